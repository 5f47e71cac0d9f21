/** Accounts of the forked Solana cluster, as they stand there now. */

import { isRecord, memberOf } from '../formats/json.ts';
import { isSolanaAddress, type SolanaAddress } from '../formats/solana/address.ts';
import type { ForkCache } from './cache.ts';
import type { ForkUpstream } from './upstream.ts';

export interface ForkedAccount {
  readonly lamports: bigint;
  readonly owner: SolanaAddress;
  readonly data: Buffer;
  readonly executable: boolean;
}

/** The most that one call may ask for. */
const accountsAtOnce = 100;
/** A list beyond this is refused: a public program may have millions of accounts. */
const maxListed = 20_000;
const maxAnswerBytes = 64 * 1024 * 1024;
const commitment = 'confirmed';
/** Errors of a node that is behind or has too much to do: another time it answers. */
const passing: ReadonlySet<unknown> = new Set([-32005, -32016, -32429, -32603]);

/** As it is noted. */
interface Noted {
  readonly lamports: string;
  readonly owner: string;
  readonly data: string;
  readonly executable: boolean;
}

export class ForkedAccounts {
  readonly #rpc: ForkUpstream;
  readonly #cache: ForkCache;

  constructor(rpc: ForkUpstream, cache: ForkCache) {
    this.#rpc = rpc;
    this.#cache = cache;
  }

  get shown(): string {
    return this.#rpc.shown;
  }

  /** Those that the cluster has. What it said last stands while it does not answer, for each account alone. */
  async accounts(addresses: readonly SolanaAddress[]): Promise<Map<SolanaAddress, ForkedAccount>> {
    const found = new Map<SolanaAddress, ForkedAccount>();
    for (let at = 0; at < addresses.length; at += accountsAtOnce) {
      const asked = addresses.slice(at, at + accountsAtOnce);
      // One call for all, made by whoever comes first; each is noted by itself.
      let calling: Promise<(Noted | null)[]> | undefined;
      const noted = await Promise.all(
        asked.map((address, index) =>
          this.#cache.latest<Noted>(this.#rpc.address, `account ${address}`, async () => {
            calling ??= this.#getMultiple(asked);
            return (await calling)[index] ?? undefined;
          }),
        ),
      );
      for (const [index, note] of noted.entries()) {
        const account = note && toAccount(note);
        if (account !== undefined) found.set(asked[index]!, account);
      }
    }
    return found;
  }

  /** What a method that lists accounts answers, with the caller's own parameters. */
  async list(method: ListMethod, params: readonly unknown[]): Promise<Map<SolanaAddress, ForkedAccount>> {
    const { of, options } = listQuestion(method, params);
    const entries = await this.#cache.latest<[string, Noted][]>(
      this.#rpc.address,
      `${method} ${JSON.stringify([of, options])}`,
      async () => {
        const answer = await this.#call(method, [...of, { ...options, encoding: 'base64', commitment }]);
        const list = isRecord(answer) ? answer.value : answer;
        if (!Array.isArray(list)) throw this.#rpc.misspoke(`answered ${method} with something else`);
        if (list.length > maxListed) {
          throw this.#rpc.misspoke(`has more than ${maxListed} accounts for ${method}`);
        }
        return list.map((entry: unknown) => [
          String(memberOf(entry, 'pubkey')),
          this.#noted(memberOf(entry, 'account'), method),
        ]);
      },
    );
    const found = new Map<SolanaAddress, ForkedAccount>();
    for (const [address, note] of entries ?? []) {
      const account = toAccount(note);
      if (isSolanaAddress(address) && account !== undefined) found.set(address, account);
    }
    return found;
  }

  async #getMultiple(addresses: readonly SolanaAddress[]): Promise<(Noted | null)[]> {
    const method = 'getMultipleAccounts';
    const value = memberOf(
      await this.#call(method, [addresses, { encoding: 'base64', commitment }]),
      'value',
    );
    if (!Array.isArray(value) || value.length !== addresses.length) {
      throw this.#rpc.misspoke(`answered ${method} with something else`);
    }
    return value.map((account: unknown) => (account === null ? null : this.#noted(account, method)));
  }

  async #call(method: string, params: readonly unknown[]): Promise<unknown> {
    const { status, body } = await this.#rpc.call('', {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      maxBytes: maxAnswerBytes,
    });
    const answer = parseExactly(body.toString('utf8'));
    if (isRecord(answer) && Object.hasOwn(answer, 'result')) return answer.result;
    const code = memberOf(memberOf(answer, 'error'), 'code');
    if (code === undefined) throw this.#rpc.misspoke(`answered ${method} with ${status}`);
    const what = `answered ${method} with error ${String(code)}`;
    throw passing.has(code) ? this.#rpc.misspoke(what) : this.#rpc.refused(what);
  }

  #noted(account: unknown, method: string): Noted {
    const lamports = memberOf(account, 'lamports');
    const owner = memberOf(account, 'owner');
    const data: unknown = memberOf(account, 'data');
    const bytes: unknown = Array.isArray(data) ? data[0] : undefined;
    if (typeof lamports !== 'string' || typeof owner !== 'string' || typeof bytes !== 'string') {
      throw this.#rpc.misspoke(`answered ${method} with an account that is none`);
    }
    return { lamports, owner, data: bytes, executable: memberOf(account, 'executable') === true };
  }
}

export type ListMethod = 'getProgramAccounts' | 'getTokenAccountsByOwner';

/** What decides about a list, without how it is to be written. */
function listQuestion(method: ListMethod, params: readonly unknown[]) {
  if (method === 'getTokenAccountsByOwner') return { of: params.slice(0, 2), options: {} };
  const filters = memberOf(params[1], 'filters');
  return { of: params.slice(0, 1), options: Array.isArray(filters) ? { filters } : {} };
}

function toAccount({ lamports, owner, data, executable }: Noted): ForkedAccount | undefined {
  if (!/^[0-9]{1,20}$/.test(lamports) || !isSolanaAddress(owner)) return undefined;
  return { lamports: BigInt(lamports), owner, data: Buffer.from(data, 'base64'), executable };
}

/** Lamports as their digits: there are more of them than JavaScript counts exactly. Undefined where it is no JSON. */
function parseExactly(text: string): unknown {
  try {
    return JSON.parse(text, (key, value: unknown, context?: { readonly source?: string }) =>
      key === 'lamports' && typeof value === 'number' ? (context?.source ?? String(value)) : value,
    );
  } catch {
    return undefined;
  }
}
