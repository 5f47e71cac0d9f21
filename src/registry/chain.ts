/** The calls to the chain that are used, with their answers checked. */

import { memberOf } from '../formats/json.ts';
import { parseSolanaAddress, type SolanaAddress } from '../formats/solana/address.ts';
import { absent, found, type LookUp } from '../outside/look-up.ts';
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

/** A block that no fork can undo, by its slot and by its height, told in one answer. */
export interface FinalizedBlock {
  readonly slot: number;
  readonly height: number;
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
  /** The newest block no fork can undo. From then on accounts are read only from nodes that have reached it. */
  finalized(): Promise<FinalizedBlock>;
  finalizedHeight(): Promise<number>;
  /** Unix seconds of the newest block. */
  blockTime(): Promise<number>;
  /** Sends; answers the signature. With `preflight` a transaction that would fail is refused with its error. */
  send(wire: Buffer, preflight: boolean): Promise<string>;
  simulate(wire: Buffer): Promise<Simulation>;
  /** What became of a transaction, however long ago; undefined when the node that was asked has not seen it. */
  status(signature: string): Promise<TransactionStatus | undefined>;
  /** The same asked of every node, with the slot of the answer: only this says that the chain has not seen it. */
  lookUpStatus(signature: string): Promise<LookUp<TransactionStatus>>;
  balance(address: SolanaAddress): Promise<bigint>;
  genesisHash(): Promise<string>;
  close(): Promise<void>;
}

const commitment = 'confirmed';

export function createNameChain(rpc: RpcTransport): NameChain {
  /** The newest finalized slot that was seen: what a node says that has not reached it is out of date. */
  let finalizedSlot = 0;
  const current = <O extends object>(options: O): O =>
    finalizedSlot === 0 ? options : { ...options, minContextSlot: finalizedSlot };
  const reader = new AccountReader(async (addresses) => {
    const options = current({ encoding: 'base64', commitment });
    const result = await rpc.call('getMultipleAccounts', [addresses, options]);
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
        current({ encoding: 'base64', commitment, filters }),
      ]);
      return list(result).map((entry) => ({
        address: toAddress(member(entry, 'pubkey')),
        account: toAccount(member(entry, 'account')),
      }));
    },
    async latestBlockhash() {
      const value = member(await rpc.call('getLatestBlockhash', [current({ commitment })]), 'value');
      return {
        blockhash: text(member(value, 'blockhash')),
        lastValidBlockHeight: integer(member(value, 'lastValidBlockHeight')),
      };
    },
    async finalized() {
      const epoch = await rpc.call('getEpochInfo', [{ commitment: 'finalized' }]);
      const slot = integer(member(epoch, 'absoluteSlot'));
      finalizedSlot = Math.max(finalizedSlot, slot);
      return { slot, height: integer(member(epoch, 'blockHeight')) };
    },
    async finalizedHeight() {
      return (await chain.finalized()).height;
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
      return text(await rpc.call('sendTransaction', [wire.toString('base64'), options], { acts: true }));
    },
    async simulate(wire) {
      const options = { encoding: 'base64', sigVerify: false, replaceRecentBlockhash: true, commitment };
      const value = member(
        await rpc.call('simulateTransaction', [wire.toString('base64'), options]),
        'value',
      );
      const logs = member(value, 'logs');
      const units = memberOf(value, 'unitsConsumed');
      return {
        err: member(value, 'err'),
        logs: logs === null ? [] : list(logs).map(text),
        unitsConsumed: typeof units === 'number' ? units : 0,
      };
    },
    async status(signature) {
      const answer = toStatus(await rpc.call('getSignatureStatuses', statusQuestion(signature)));
      return answer.state === 'found' ? answer.value : undefined;
    },
    lookUpStatus: (signature) =>
      rpc.lookUp(async (node) =>
        toStatus(await node.call('getSignatureStatuses', statusQuestion(signature))),
      ),
    async balance(address) {
      return BigInt(
        integer(member(await rpc.call('getBalance', [address, current({ commitment })]), 'value')),
      );
    },
    async genesisHash() {
      return text(await rpc.call('getGenesisHash', []));
    },
    close: () => rpc.close(),
  };
  return chain;
}

const statusQuestion = (signature: string) => [[signature], { searchTransactionHistory: true }];

/** One node's answer, at the slot that the node had reached when it made it. */
function toStatus(result: unknown): LookUp<TransactionStatus> {
  const at = integer(member(member(result, 'context'), 'slot'));
  const [value] = list(member(result, 'value'));
  if (value === undefined || value === null) return absent(at);
  const level = memberOf(value, 'confirmationStatus');
  return found(
    {
      slot: integer(member(value, 'slot')),
      err: member(value, 'err'),
      finalized: level === 'finalized',
      confirmed: level === 'finalized' || level === 'confirmed',
    },
    at,
  );
}

function nonsense(what: string): ChainUnavailable {
  return new ChainUnavailable(`the node answered ${what} with nonsense`);
}

function member(value: unknown, key: string): unknown {
  const own = memberOf(value, key);
  if (own === undefined) throw nonsense(key);
  return own;
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
