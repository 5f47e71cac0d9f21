/** An item that is sent in parts: in any order, some twice, to whichever process, and finalized by one or two at once. */
import { hash } from 'node:crypto';
import { textOf, tryParseJson } from '../../../src/formats/json.ts';
import type { HttpAnswer } from '../../../src/outside/http.ts';
import type { SeededRandom } from '../../support/seeded-random.ts';
import { skewed } from '../faults.ts';
import { ask, type Insisting, insist, minute, second } from '../person.ts';

const mostParts = 4;
const mostLooks = 30;

/**
 * The answer that another try would not change; undefined where it is given up, or has to be begun again. `told` hears of each
 * part before it is sent.
 */
export async function uploadInParts(
  by: Insisting,
  item: Buffer,
  told: (digest: string) => void,
): Promise<HttpAnswer | undefined> {
  const { life, random } = by;
  const begun = await insist(by, { path: '/v1/chunks/solana/-1/-1' });
  const id = textOf(tryParseJson(begun?.body.toString() ?? ''), 'id');
  if (begun?.status !== 200 || id === undefined) return begun;
  const path = `/v1/chunks/solana/${id}`;
  const parts = cut(random, item);
  for (const { body } of parts) told(hash('sha256', body, 'hex'));
  const again = parts.filter(() => random.below(4) === 0);
  const answers = await Promise.all(
    shuffled(random, [...parts, ...again]).map(async ({ start, body }) => {
      await life.wait(random.below(2) === 0 ? 0 : skewed(random, 1, 10 * second));
      return insist(by, { path: `${path}/${start}`, method: 'POST', body });
    }),
  );
  const refused = answers.find((answer) => answer?.status !== 200);
  if (refused !== undefined || answers.includes(undefined)) return unlessForgotten(refused);
  // Some come back late, some never.
  if (random.below(3) === 0) await life.wait(skewed(random, second, 60 * minute));
  if (random.below(12) === 0) return undefined;
  return unlessForgotten(await finalize(by, path));
}

/** Its time may be over, by a clock that was ahead: then it is begun again. */
const unlessForgotten = (answer: HttpAnswer | undefined): HttpAnswer | undefined =>
  answer?.status === 404 ? undefined : answer;

function cut(random: SeededRandom, item: Buffer): { readonly start: number; readonly body: Buffer }[] {
  const inner = Array.from({ length: random.below(mostParts) }, () => random.between(1, item.length - 1));
  const starts = [...new Set([0, ...inner])].sort((one, other) => one - other);
  return starts.map((start, index) => ({ start, body: item.subarray(start, starts[index + 1]) }));
}

function shuffled<T>(random: SeededRandom, items: readonly T[]): T[] {
  return items
    .map((item) => ({ item, at: random.fraction() }))
    .sort((one, other) => one.at - other.at)
    .map(({ item }) => item);
}

async function finalize(by: Insisting, path: string): Promise<HttpAnswer | undefined> {
  const { life, random, address } = by;
  const end = { path: `${path}/-1`, method: 'POST' } as const;
  if (random.below(3) === 0) void ask(address(), end);
  if (random.below(2) === 0) return insist(by, end);
  const begun = await insist(by, { path: `${path}/finalize`, method: 'POST' });
  if (begun === undefined || begun.status >= 300) return begun;
  for (let looked = 0; looked < mostLooks; looked += 1) {
    const answer = await insist(by, { path: `${path}/status` });
    const status = textOf(tryParseJson(answer?.body.toString() ?? ''), 'status');
    // Whatever else it is, it is final, and told to who finalizes again.
    if (status !== 'ASSEMBLING' && status !== 'VALIDATING') return insist(by, end);
    await life.wait(skewed(random, second, 2 * minute));
  }
  return undefined;
}

/** The service says that it has lost what it had taken. */
export const isLost = ({ status, body }: HttpAnswer): boolean =>
  status === 400 && body.toString().includes('lost here');
