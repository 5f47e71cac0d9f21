/** How people ask a server: once, and not for ever. */
import type { Answered, Network } from '../network.ts';
import type { Life } from '../process.ts';

export interface Asking {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** With the body as bytes. */
export interface Told {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

const timeoutMs = 120_000;

/** undefined where nobody answered in time, or the connection broke. */
export async function askOnce(
  life: Life,
  network: Network,
  url: string,
  { method = 'GET', path, headers = {}, body = '' }: Asking,
): Promise<Told | undefined> {
  const asked = { method, path, headers, body: Buffer.from(body), from: life.process.name };
  const answered: Promise<Answered | undefined> = network.ask(life, url, asked).catch(() => undefined);
  const answer = await Promise.race([answered, life.wait(timeoutMs)]);
  // Who reads notices that it broke off.
  if (answer === undefined || answer === null || answer.flow?.ending !== undefined) return undefined;
  return { status: answer.status, headers: answer.headers ?? {}, body: Buffer.from(answer.body ?? '') };
}
