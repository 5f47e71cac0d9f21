/** The calls to the chain that are used, with their answers checked. */
import { parseSolanaAddress, type SolanaAddress } from '../formats/solana/address.ts';
import { AccountReader } from './account-reader.ts';
import { ChainUnavailable } from './errors.ts';
import type { RpcTransport } from './transport.ts';

export interface ChainAccount {
  readonly owner: SolanaAddress;
  readonly lamports: bigint;
  readonly data: Buffer;
}

export interface Blockhash {
  readonly blockhash: string;
  /** The last block that may hold a transaction with this hash. */
  readonly lastValidBlockHeight: number;
}

export interface TransactionStatus {
  readonly slot: number;
  /** The chain's own error value; null when it went well. */
  readonly err: unknown;
  readonly finalized: boolean;
  readonly confirmed: boolean;
}

export interface Simulation {
  readonly err: unknown;
  readonly logs: readonly string[];
  readonly unitsConsumed: number;
}

export type AccountFilter =
  | { readonly dataSize: number }
  | { readonly memcmp: { readonly offset: number; readonly bytes: string; readonly encoding: 'base64' } };

/** One interface over the local ledger and any cluster. All calls fail with `ChainUnavailable` or `ChainRefused`. */
export interface NameChain {
  account(address: SolanaAddress): Promise<ChainAccount | undefined>;
  /** In the order asked. Questions of the same turn share a call. */
  accounts(addresses: readonly SolanaAddress[]): Promise<(ChainAccount | undefined)[]>;
  programAccounts(
    program: SolanaAddress,
    filters: readonly AccountFilter[],
  ): Promise<{ address: SolanaAddress; account: ChainAccount }[]>;
  latestBlockhash(): Promise<Blockhash>;
  /** The height no fork can undo. */
  finalizedHeight(): Promise<number>;
  /** Unix seconds of the newest block. */
  blockTime(): Promise<number>;
  /** Sends; answers the signature. With `preflight` a transaction that would fail is refused with its error. */
  send(wire: Buffer, preflight: boolean): Promise<string>;
  simulate(wire: Buffer): Promise<Simulation>;
  /** What became of a transaction, however long ago; undefined when the chain has not seen it. */
  status(signature: string): Promise<TransactionStatus | undefined>;
  balance(address: SolanaAddress): Promise<bigint>;
  genesisHash(): Promise<string>;
  close(): Promise<void>;
}

const commitment = 'confirmed';

export function createNameChain(rpc: RpcTransport): NameChain {
  const reader = new AccountReader(async (addresses) => {
    const result = await rpc.call('getMultipleAccounts', [addresses, { encoding: 'base64', commitment }]);
    const values = list(member(result, 'value'));
    if (values.length !== addresses.length) throw nonsense('getMultipleAccounts');
    return values.map((value) => (value === null ? undefined : toAccount(value)));
  });
  const chain: NameChain = {
    async account(address) {
      const [account] = await chain.accounts([address]);
      return account;
    },
    accounts: (addresses) => reader.read(addresses),
    async programAccounts(program, filters) {
      const result = await rpc.call('getProgramAccounts', [
        program,
        { encoding: 'base64', commitment, filters },
      ]);
      return list(result).map((entry) => ({
        address: toAddress(member(entry, 'pubkey')),
        account: toAccount(member(entry, 'account')),
      }));
    },
    async latestBlockhash() {
      const value = member(await rpc.call('getLatestBlockhash', [{ commitment }]), 'value');
      return {
        blockhash: text(member(value, 'blockhash')),
        lastValidBlockHeight: integer(member(value, 'lastValidBlockHeight')),
      };
    },
    async finalizedHeight() {
      return integer(await rpc.call('getBlockHeight', [{ commitment: 'finalized' }]));
    },
    async blockTime() {
      const slot = integer(await rpc.call('getSlot', [{ commitment }]));
      return integer(await rpc.call('getBlockTime', [slot]));
    },
    async send(wire, preflight) {
      const options = {
        encoding: 'base64',
        skipPreflight: !preflight,
        preflightCommitment: commitment,
        maxRetries: 0,
      };
      return text(await rpc.call('sendTransaction', [wire.toString('base64'), options]));
    },
    async simulate(wire) {
      const options = { encoding: 'base64', sigVerify: false, replaceRecentBlockhash: true, commitment };
      const value = member(
        await rpc.call('simulateTransaction', [wire.toString('base64'), options]),
        'value',
      );
      const logs = member(value, 'logs');
      const units = optional(value, 'unitsConsumed');
      return {
        err: member(value, 'err'),
        logs: logs === null ? [] : list(logs).map(text),
        unitsConsumed: typeof units === 'number' ? units : 0,
      };
    },
    async status(signature) {
      const result = await rpc.call('getSignatureStatuses', [
        [signature],
        { searchTransactionHistory: true },
      ]);
      const [value] = list(member(result, 'value'));
      if (value === undefined || value === null) return undefined;
      const level = optional(value, 'confirmationStatus');
      return {
        slot: integer(member(value, 'slot')),
        err: member(value, 'err'),
        finalized: level === 'finalized',
        confirmed: level === 'finalized' || level === 'confirmed',
      };
    },
    async balance(address) {
      return BigInt(integer(member(await rpc.call('getBalance', [address, { commitment }]), 'value')));
    },
    async genesisHash() {
      return text(await rpc.call('getGenesisHash', []));
    },
    close: () => rpc.close(),
  };
  return chain;
}

function nonsense(what: string): ChainUnavailable {
  return new ChainUnavailable(`the node answered ${what} with nonsense`);
}

function optional(value: unknown, key: string): unknown {
  if (typeof value !== 'object' || value === null) throw nonsense(key);
  return Object.entries(value).find(([name]) => name === key)?.[1];
}

function member(value: unknown, key: string): unknown {
  const found = optional(value, key);
  if (found === undefined) throw nonsense(key);
  return found;
}

function list(value: unknown): unknown[] {
  if (!Array.isArray(value)) throw nonsense('a list');
  return value;
}

function text(value: unknown): string {
  if (typeof value !== 'string') throw nonsense('a text');
  return value;
}

function integer(value: unknown): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) throw nonsense('an integer');
  return value;
}

function toAddress(value: unknown): SolanaAddress {
  return parseSolanaAddress(text(value));
}

function toAccount(value: unknown): ChainAccount {
  const data = list(member(value, 'data'));
  const lamports = member(value, 'lamports');
  if (typeof lamports !== 'number') throw nonsense('lamports');
  return {
    owner: toAddress(member(value, 'owner')),
    lamports: BigInt(lamports),
    data: Buffer.from(text(data[0]), 'base64'),
  };
}
