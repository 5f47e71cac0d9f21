/** The chain that names live on: the calls that are used, each answer checked by its schema. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Static, type TSchema, Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { parseSolanaAddress, type SolanaAddress } from '../formats/solana/address.ts';
import { kept } from '../kernel/background/kept.ts';
import { OutsideUnavailable } from '../outside/http.ts';
import { JsonRpcPool, lastCodeOf, solanaBehind, solanaCallErrors } from '../outside/json-rpc.ts';
import { absent, found, type LookUp } from '../outside/look-up.ts';
import { AccountReader } from './account-reader.ts';
import { ChainUnavailable } from './errors.ts';

export interface ChainAccount {
  readonly owner: SolanaAddress;
  readonly lamports: bigint;
  readonly data: Buffer;
}

export interface TransactionStatus {
  /** That of its block. */
  readonly slot: number;
  /** The chain's own error value; null when it went well. */
  readonly err: unknown;
  readonly finalized: boolean;
  readonly confirmed: boolean;
}

export interface PastTransaction {
  readonly signature: string;
  readonly slot: number;
  /** Unix seconds; undefined where the node does not know. */
  readonly at: number | undefined;
  readonly failed: boolean;
}

type AccountFilter =
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
  /** With the last block that may hold a transaction with this hash. */
  latestBlockhash(): Promise<{ readonly blockhash: string; readonly lastValidBlockHeight: number }>;
  /** The newest block no fork can undo. */
  finalized(): Promise<{ readonly slot: number; readonly height: number }>;
  /**
   * The newest slot by which something is known to have happened: accounts are read only from nodes that have reached it. It
   * grows with each block that is final, and each transaction that was seen confirmed.
   */
  reached(): number;
  /** Something happened by then that this process has not seen itself. */
  reach(slot: number): void;
  /** Unix seconds of the newest block. */
  blockTime(): Promise<number>;
  /** Sends; answers the signature. With `preflight` a transaction that would fail is refused with its error. */
  send(wire: Buffer, preflight: boolean): Promise<string>;
  simulate(wire: Buffer): Promise<{ readonly err: unknown; readonly logs: readonly string[] }>;
  /** What became of a transaction, however long ago; undefined when the node that was asked has not seen it. */
  status(signature: string): Promise<TransactionStatus | undefined>;
  /** The same asked of every node, with the slot of the answer: only this says that the chain has not seen it. */
  lookUpStatus(signature: string): Promise<LookUp<TransactionStatus>>;
  /** Of the transactions that named an address, newest first, as far back as the node remembers. */
  transactionsOf(address: SolanaAddress, limit: number): Promise<PastTransaction[]>;
  /** The wire bytes of a transaction; undefined where the node does not have it. */
  transaction(signature: string): Promise<Buffer | undefined>;
  balance(address: SolanaAddress): Promise<bigint>;
  /** Which chain this is; asked once. */
  genesisHash(): Promise<string>;
  close(): Promise<void>;
}

interface NameChainOptions {
  /** The first is preferred until it fails. */
  readonly urls: readonly string[];
  /** For one call to one node. */
  readonly timeoutMs: number;
  /** Bytes of one answer. */
  readonly maxBytes?: number;
}

/** All names of a program come in one answer. */
const defaultMaxBytes = 64 * 1024 * 1024;
const commitment = 'confirmed';
const encoding = 'base64';
/** Those that keep up are behind each other by a block or two. */
const mostLooks = 5;
const behindPauseMs = 200;

const integer = Type.Integer({ minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER });
const withValue = <T extends TSchema>(value: T) => Type.Object({ value });
const Account = Type.Object({
  owner: Type.String(),
  lamports: Type.Integer(),
  data: Type.Array(Type.String(), { minItems: 1 }),
});
const Status = Type.Object({
  slot: integer,
  err: Type.Unknown(),
  confirmationStatus: Type.Optional(Type.Unknown()),
});

const readText = answerReader(Type.String());
const readInteger = answerReader(integer);
const readAccounts = answerReader(withValue(Type.Array(Type.Union([Account, Type.Null()]))));
const readProgramAccounts = answerReader(
  Type.Array(Type.Object({ pubkey: Type.String(), account: Account })),
);
const readBlockhash = answerReader(
  withValue(Type.Object({ blockhash: Type.String(), lastValidBlockHeight: integer })),
);
const readEpoch = answerReader(Type.Object({ absoluteSlot: integer, blockHeight: integer }));
const readBalance = answerReader(withValue(integer));
const readSimulation = answerReader(
  withValue(
    Type.Object({
      err: Type.Unknown(),
      logs: Type.Union([Type.Array(Type.String()), Type.Null()]),
    }),
  ),
);
const readStatuses = answerReader(
  Type.Object({
    context: Type.Object({ slot: integer }),
    value: Type.Array(Type.Union([Status, Type.Null()])),
  }),
);

const readPast = answerReader(
  Type.Array(
    Type.Object({
      signature: Type.String(),
      slot: integer,
      err: Type.Unknown(),
      blockTime: Type.Optional(Type.Union([integer, Type.Null()])),
    }),
  ),
);
const readTransaction = answerReader(
  Type.Union([
    Type.Null(),
    Type.Object({ transaction: Type.Tuple([Type.String(), Type.Literal('base64')]) }),
  ]),
);

/** Answers the value if it has the shape; another shape is as good as no answer. */
function answerReader<T extends TSchema>(schema: T): (answer: unknown, method: string) => Static<T> {
  const shape = Compile(schema);
  return (answer, method) => {
    if (shape.Check(answer)) return answer;
    throw new ChainUnavailable(`a node answered ${method} with something else`);
  };
}

export function createNameChain({
  urls,
  timeoutMs,
  maxBytes = defaultMaxBytes,
}: NameChainOptions): NameChain {
  const pool = new JsonRpcPool({ urls, timeoutMs, maxBytes, callErrors: solanaCallErrors });
  /** Nodes that have not come so far answer what is out of date. */
  let reached = 0;
  const reach = (slot: number): void => {
    reached = Math.max(reached, slot);
  };

  async function call<T>(
    read: (answer: unknown, method: string) => T,
    method: string,
    params: readonly unknown[],
    how?: { readonly acts: boolean },
  ): Promise<T> {
    const answer = await pool.call(method, params, how).catch((error: unknown) => {
      if (!(error instanceof OutsideUnavailable)) throw error;
      throw new ChainUnavailable('no Solana node answered', { cause: error });
    });
    return read(answer, method);
  }

  /** The same of nodes that are not behind; the members of one address may each be so for a moment. */
  async function callCurrent<T>(
    read: (answer: unknown, method: string) => T,
    method: string,
    subject: readonly unknown[],
    options: object = {},
  ): Promise<T> {
    for (let look = 1; ; look += 1) {
      const least = reached === 0 ? {} : { minContextSlot: reached };
      try {
        return await call(read, method, [...subject, { ...options, commitment, ...least }]);
      } catch (error) {
        const isBehind = error instanceof ChainUnavailable && lastCodeOf(error.cause) === solanaBehind;
        if (!isBehind || look === mostLooks) throw error;
        await sleep(behindPauseMs);
      }
    }
  }

  const reader = new AccountReader(async (addresses) => {
    const { value } = await callCurrent(readAccounts, 'getMultipleAccounts', [addresses], { encoding });
    if (value.length !== addresses.length) {
      throw new ChainUnavailable('a node answered getMultipleAccounts with another number of accounts');
    }
    return value.map((account) => (account === null ? undefined : toAccount(account)));
  });

  /** What was seen to be done is there for whatever is read next. */
  function seen(answer: LookUp<TransactionStatus>): LookUp<TransactionStatus> {
    if (answer.state === 'found' && answer.value.confirmed) reach(Math.min(answer.value.slot, answer.at));
    return answer;
  }

  const chain: NameChain = {
    async account(address) {
      const [account] = await chain.accounts([address]);
      return account;
    },
    accounts: (addresses) => reader.read(addresses),
    async programAccounts(program, filters) {
      const options = { encoding, filters };
      const entries = await callCurrent(readProgramAccounts, 'getProgramAccounts', [program], options);
      return entries.map(({ pubkey, account }) => ({
        address: parseSolanaAddress(pubkey),
        account: toAccount(account),
      }));
    },
    async latestBlockhash() {
      return (await callCurrent(readBlockhash, 'getLatestBlockhash', [])).value;
    },
    async finalized() {
      const epoch = await call(readEpoch, 'getEpochInfo', [{ commitment: 'finalized' }]);
      reach(epoch.absoluteSlot);
      return { slot: epoch.absoluteSlot, height: epoch.blockHeight };
    },
    reached: () => reached,
    reach,
    async blockTime() {
      const slot = await call(readInteger, 'getSlot', [{ commitment }]);
      return call(readInteger, 'getBlockTime', [slot]);
    },
    send(wire, preflight) {
      const options = {
        encoding,
        skipPreflight: !preflight,
        preflightCommitment: commitment,
        maxRetries: 0,
      };
      return call(readText, 'sendTransaction', [wire.toString('base64'), options], { acts: true });
    },
    async simulate(wire) {
      const options = { encoding, sigVerify: false, replaceRecentBlockhash: true, commitment };
      const { value } = await call(readSimulation, 'simulateTransaction', [wire.toString('base64'), options]);
      return { err: value.err, logs: value.logs ?? [] };
    },
    async status(signature) {
      const answer = seen(
        toStatus(await call(readStatuses, 'getSignatureStatuses', statusQuestion(signature))),
      );
      return answer.state === 'found' ? answer.value : undefined;
    },
    lookUpStatus: (signature) =>
      pool.lookUp(async (node) => {
        const method = 'getSignatureStatuses';
        return seen(toStatus(readStatuses(await node.call(method, statusQuestion(signature)), method)));
      }),
    async transactionsOf(address, limit) {
      const past = await call(readPast, 'getSignaturesForAddress', [address, { limit, commitment }]);
      return past.slice(0, limit).map(({ signature, slot, err, blockTime }) => ({
        signature,
        slot,
        at: blockTime ?? undefined,
        failed: err !== null && err !== undefined,
      }));
    },
    async transaction(signature) {
      const options = { encoding, commitment, maxSupportedTransactionVersion: 0 };
      const answer = await call(readTransaction, 'getTransaction', [signature, options]);
      return answer === null ? undefined : Buffer.from(answer.transaction[0], 'base64');
    },
    async balance(address) {
      return BigInt((await callCurrent(readBalance, 'getBalance', [address])).value);
    },
    genesisHash: kept(() => call(readText, 'getGenesisHash', [])),
    close: () => pool.close(),
  };
  return chain;
}

const statusQuestion = (signature: string) => [[signature], { searchTransactionHistory: true }];

/** One node's answer, at the slot that the node had reached when it made it. */
function toStatus({ context, value: [status] }: ReturnType<typeof readStatuses>): LookUp<TransactionStatus> {
  if (status === undefined || status === null) return absent(context.slot);
  const { slot, err, confirmationStatus: level } = status;
  const finalized = level === 'finalized';
  return found({ slot, err, finalized, confirmed: finalized || level === 'confirmed' }, context.slot);
}

function toAccount({ owner, lamports, data: [bytes = ''] }: Static<typeof Account>): ChainAccount {
  return {
    owner: parseSolanaAddress(owner),
    lamports: BigInt(lamports),
    data: Buffer.from(bytes, 'base64'),
  };
}
