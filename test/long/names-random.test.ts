/** Five hundred random actions with faults, then the books: what is on the chain was paid for, and nothing else. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { antRecord, antRecordMetadata } from '../../src/formats/solana/accounts-ant.ts';
import { rentExemptMinimum } from '../../src/formats/solana/programs.ts';
import { wallet } from '../../src/localnet/solana/testing.ts';
import { at, chainDown, NamesBench, ownerSigned, text } from '../support/names-bench.ts';
import { seededRandom } from '../support/seeded-random.ts';

const credit = 10n ** 12n;
const id = 'T9_V2HfiAq5qlLzObfyayj2-cjPujxpg25TRi4OZbe4';

test('five hundred actions with faults leave the books in order', { timeout: 900_000 }, async (t) => {
  const random = seededRandom(500);
  const bench = await NamesBench.start({
    deliveryTimeoutMs: 30,
    environment: { ARNS_MAX_OPEN_ACTIONS: '1000' },
  });
  t.after(() => bench.stop());
  const payers = ['p1', 'p2', 'p3'].map(wallet);
  const owners = ['o1', 'o2', 'o3'].map(wallet);
  const given = 10_000n * credit;
  for (const payer of payers) await bench.give(payer, given);
  const tokens: { name: string; antId: string; owner: (typeof owners)[number] }[] = [];
  const nonces: string[] = [];

  /** Breaks the chain now and then, before or after the call. */
  function breakSometimes(): void {
    const fault = () => (random.below(12) === 0 ? chainDown() : undefined);
    bench.faults.before = fault;
    bench.faults.after = fault;
  }

  async function create(action: string, body: Record<string, unknown>, owner?: (typeof owners)[number]) {
    const nonce = randomUUID();
    nonces.push(nonce);
    const order = random.below(2) === 0 ? {} : { signOrder: 'owner-first' };
    return bench.create(action, { ...body, ...order }, random.pick(payers), {
      nonce,
      ...(owner && { owner }),
    });
  }

  /** The token of an action that is done; undefined where it is not. */
  async function maybeSign(envelope: unknown, owner: (typeof owners)[number]): Promise<string | undefined> {
    if (at(envelope, 'status') === 'completed') return String(at(envelope, 'antId'));
    if (at(envelope, 'transaction') === undefined) return undefined;
    const choice = random.below(6);
    if (choice === 0) return undefined;
    if (choice === 1) bench.ledger.skip(160);
    if (choice === 2) {
      const wire = ownerSigned(text(envelope, 'transaction'), owner);
      const sent = bench.ledger.rpc('sendTransaction', wire, { encoding: 'base64', skipPreflight: true });
      // Where the owner signs first, nobody can send it.
      if (at(envelope, 'signOrder') === undefined) await sent;
      else await assert.rejects(sent);
      return undefined;
    }
    // One that came too late may be handed out anew, and be too late again.
    return maybeSign((await bench.sign(envelope, owner)).body, owner);
  }

  for (let round = 0; round < 500; round += 1) {
    breakSometimes();
    const owner = random.pick(owners);
    const token = tokens.length === 0 ? undefined : random.pick(tokens);
    if (token === undefined || random.below(5) === 0) {
      const name = `random-${random.below(120)}`;
      const created = await create('buy-name', {
        name,
        ownerAddress: owner.address,
        type: 'lease',
        years: 1,
      });
      const antId = await maybeSign(created.body, owner);
      if (antId !== undefined) tokens.push({ name, antId, owner });
    } else {
      const base = { antId: token.antId, ownerAddress: token.owner.address };
      const undername = random.pick(['@', 'docs', 'blog']);
      const kind = random.below(8);
      if (kind === 0) await create('extend-lease', { name: token.name, years: 1 });
      else if (kind === 1) await create('increase-undername-limit', { name: token.name, increaseQty: 2 });
      else if (kind === 2) await create('upgrade-name', { name: token.name });
      else if (kind === 3) {
        const answer = await create('remove-controller', base);
        await maybeSign(answer.body, token.owner);
      } else if (kind === 4) {
        const answer = await create('add-controller', base);
        await maybeSign(answer.body, token.owner);
      } else if (kind === 5) {
        const body = { ...base, undername, displayName: `round ${round}` };
        const answer = await create('set-record-metadata', body, token.owner);
        await maybeSign(answer.body, token.owner);
      } else if (kind === 6) {
        const answer = await create('remove-record', { ...base, undername: 'docs' }, token.owner);
        await maybeSign(answer.body, token.owner);
      } else {
        const body = { ...base, undername, transactionId: id, ttlSeconds: 600 };
        const answer = await create('set-record', body, token.owner);
        await maybeSign(answer.body, token.owner);
      }
    }
    if (random.below(40) === 0) await bench.restart();
    if (random.below(25) === 0) await bench.names.reconcile().catch(() => {});
    bench.ledger.skip(random.below(4));
  }

  bench.faults.before = () => {};
  bench.faults.after = () => {};
  for (let turn = 0; turn < 4; turn += 1) {
    bench.ledger.skipSeconds(1_000);
    await bench.names.reconcile();
    await bench.names.settled();
  }

  const check = await bench.credits.selfCheck();
  assert.deepEqual(check.problems, []);
  let spent = 0n;
  const outcomes = new Map<string, number>();
  for (const nonce of nonces) {
    const { status, body } = await bench.get(`/arns/actions/${nonce}`);
    if (status === 404) continue;
    const outcome = text(body, 'status');
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    assert.ok(['completed', 'failed', 'expired'].includes(outcome), `${nonce} is ${outcome}`);
    if (outcome !== 'completed') {
      spent += BigInt(String(at(body, 'keptWincQty') ?? '0'));
      continue;
    }
    spent += BigInt(text(body, 'wincQty'));
    if (at(body, 'action') === 'buy-name') {
      const ours = (await bench.registry.names()).some(({ ant }) => ant === text(body, 'antId'));
      assert.ok(ours, 'a completed purchase is on the chain');
    }
  }
  let held = 0n;
  for (const payer of payers) held += await bench.balance(payer);
  assert.equal(
    held + spent,
    given * BigInt(payers.length),
    'every winc is held, was spent on a completed action, or on the chain for one that failed',
  );
  for (const record of await bench.registry.names()) {
    const paid = await bench.sql.get(
      "SELECT nonce FROM arns_action WHERE name = ? AND ant_id = ? AND action = 'buy-name' AND status = 'completed'",
      record.name,
      record.ant,
    );
    assert.ok(paid, `${record.name} is on the chain and was paid for`);
  }
  for (const owner of owners) {
    const held = bench.ledger.balance(owner);
    if (held > 0n) t.diagnostic(`an owner holds ${held} lamports`);
    assert.ok(isUnusedRent(held, nonces.length), `an owner holds ${held} lamports`);
  }
  // How many it is depends on how long the chain takes: it is waited for thirty milliseconds, then asked again later.
  assert.ok((outcomes.get('completed') ?? 0) > 40, JSON.stringify([...outcomes]));
  assert.ok(
    (outcomes.get('failed') ?? 0) + (outcomes.get('expired') ?? 0) > 20,
    JSON.stringify([...outcomes]),
  );
});

/**
 * The rent of a record is lent with the action that makes it, and paid for in its price. Where another action made the
 * record between planning and landing, the owner keeps what it paid for; where another removed what an action gives
 * back, it gives that back. The owner holds nothing else.
 */
function isUnusedRent(lamports: bigint, actions: number): boolean {
  const [record, metadata] = [antRecord.space, antRecordMetadata.space].map(rentExemptMinimum);
  assert.ok(record !== undefined && metadata !== undefined);
  const most = BigInt(actions) / 10n;
  for (let count = -1n; count <= most; count += 1n) {
    const rest = lamports - count * metadata;
    const records = rest / record;
    if (rest % record === 0n && records >= -1n && count + records <= most) return true;
  }
  return false;
}
