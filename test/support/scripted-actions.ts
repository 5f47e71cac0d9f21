/** The steps of actions over a real ledger, beside a chain and a registry whose every word a test chooses. */
import assert from 'node:assert/strict';
import { winc } from '../../src/credits/credits.ts';
import { createCredits } from '../../src/credits/ledger/ledger.ts';
import { aclConfig, aclPage, aclPageSize, antAddresses } from '../../src/formats/solana/accounts-ant.ts';
import type { ArnsRecord } from '../../src/formats/solana/accounts-arns.ts';
import type { SolanaAddress } from '../../src/formats/solana/address.ts';
import { antBuilder } from '../../src/formats/solana/instructions-ant.ts';
import { arnsBuilder } from '../../src/formats/solana/instructions-arns.ts';
import { namePrograms, tokenProgram } from '../../src/formats/solana/programs.ts';
import { encodeTokenAccount } from '../../src/formats/solana/token.ts';
import { rememberingLog } from '../../src/kernel/testing.ts';
import { wallet } from '../../src/localnet/solana/testing.ts';
import type { ActionContext } from '../../src/names/actions/context.ts';
import { type Action, findAction, insertAction } from '../../src/names/actions/store.ts';
import { Planner, type SignedTransaction } from '../../src/names/chain/plan.ts';
import type { SolanaKey } from '../../src/names/chain/service-key.ts';
import { Locks } from '../../src/names/locks.ts';
import type { ActionRequest, BuyRequest } from '../../src/names/requests/action.ts';
import { absent, found } from '../../src/outside/look-up.ts';
import type { RateTable } from '../../src/pricing/pricing.ts';
import type { ChainAccount, TransactionStatus } from '../../src/registry/chain.ts';
import { ChainRefused, ChainUnavailable } from '../../src/registry/errors.ts';
import type { Sql } from '../../src/storage/sql/sql.ts';
import { signEd25519 } from '../../src/wallets/solana/ed25519.ts';

export const service = wallet('service');
export const owner = wallet('name owner').address;
export const payer = wallet('payer').address;
export const token = wallet('token').address;
export const otherToken = wallet('another token').address;

/** What each action of these tests costs, and what its payer has before it. */
export const price = 1_000n;
export const funds = 50_000n;

export const buy: BuyRequest = {
  ...{ action: 'buy-name', name: 'a-name', owner, type: 'lease', years: 1, opening: {} },
};
export const extend: Extract<ActionRequest, { action: 'extend-lease' }> = {
  action: 'extend-lease',
  name: 'a-name',
  years: 1,
};

export const leased: ArnsRecord = {
  ...{ name: 'a-name', ant: token, type: 'lease', end: 5_000, undernameLimit: 10 },
  ...{ owner, start: 0, purchasePrice: 0n, nameHash: Buffer.alloc(32), bump: 0, version: [1, 0, 0] },
};

/** What became of whatever is asked about: no block has it yet, or none ever will. */
type Outcome = 'pending' | 'confirmed' | 'failed' | 'dead';

const lastSlot = 1_000;

interface Script {
  now: number;
  outcome: Outcome;
  /** Of the newest block that no fork can undo, where it matters. */
  height: number | undefined;
  /** Of what is sent; undefined where nodes take it. */
  refusal: unknown;
  /** No node answers. */
  isAway: boolean;
  genesisHash: string;
  record: ArnsRecord | undefined;
  /** What the service has of the token that names are paid in; a name takes five. */
  tokens: bigint;
  /** What an action costs, and of that the token of a bought name. */
  price: bigint;
  surcharge: bigint;
  /** What a transaction would run into, and what one that failed ran into. */
  simulation: unknown;
  failure: unknown;
  /** What the chain has at an address. */
  account: (address: SolanaAddress) => ChainAccount | undefined;
  /** Called before each call of the chain. */
  before: (method: string) => void | Promise<void>;
}

interface Kept {
  readonly nonce?: string;
  readonly status?: string;
  readonly owned?: SignedTransaction;
  readonly service?: SignedTransaction;
  readonly antId?: string;
  readonly ownerFirst?: boolean;
  readonly tokenWinc?: bigint;
  readonly before?: object;
  readonly expiresAt?: number;
  readonly updatedAt?: number;
}

export const signed = (signature: string, lastValidBlockHeight = 9): SignedTransaction => ({
  ...{ wire: Buffer.from(`wire of ${signature}`), signature, lastValidBlockHeight },
});

const lists = antAddresses(namePrograms.mainnet.ant);
type Entries = Parameters<typeof aclPage.encode>[0]['entries'];

/** A user's list of tokens as the chain has it, with room left; undefined at other addresses. */
export function listAt(user: SolanaAddress, address: SolanaAddress, entries: Entries = []) {
  const { ant } = namePrograms.mainnet;
  const account = (data: Buffer): ChainAccount => ({ data, owner: ant, lamports: 1n });
  const [bump, version] = [0, [1, 0, 0]];
  const totalEntries = BigInt(entries.length);
  if (address === lists.aclConfig(user).address)
    return account(aclConfig.encode({ user, totalEntries, pageCount: 1n, bump, version }));
  if (address !== lists.aclPage(user, 0n).address) return undefined;
  const page = { user, pageIndex: 0n, entries, bump, version };
  return account(aclPage.encode(page, aclPageSize(entries.length)));
}

/** Whether the chain is asked for the list of a user. */
export const isListOf = (user: SolanaAddress, address: SolanaAddress): boolean =>
  address === lists.aclConfig(user).address;

/** One winc is worth a lamport, as far as these tests count. */
export const rates: RateTable = { at: 0, price: () => ({ digits: 1n, scale: 0 }) };

const tokenAccount = (amount: bigint): Buffer =>
  encodeTokenAccount({
    ...{ mint: namePrograms.mainnet.mint, owner: service.address, amount, state: 'initialized' },
    ...{ delegate: undefined, nativeReserve: undefined, delegatedAmount: 0n, closeAuthority: undefined },
  });

export async function scriptedActions(sql: Sql) {
  const script: Script = {
    ...{
      now: 1_000_000,
      outcome: 'pending',
      height: undefined,
      refusal: undefined,
      isAway: false,
      record: undefined,
      genesisHash: 'the scripted chain',
    },
    ...{
      tokens: 5n,
      price,
      surcharge: 300n,
      simulation: null,
      failure: 'AccountNotFound',
      account: () => undefined,
      before: () => {},
    },
  };
  const now = () => script.now;
  const credits = createCredits({ sql, now });
  await credits.credit({
    ...{ address: payer, addressType: 'solana', amount: winc(funds), reason: 'payment', id: 'funds' },
  });
  const sent: Buffer[] = [];
  const status = (): TransactionStatus | undefined => {
    if (script.outcome === 'pending' || script.outcome === 'dead') return undefined;
    const err = script.outcome === 'failed' ? script.failure : null;
    return { slot: lastSlot, err, finalized: true, confirmed: true };
  };
  const answers = {
    latestBlockhash: () => ({ blockhash: '1'.repeat(32), lastValidBlockHeight: 9 }),
    finalized: () => ({
      slot: lastSlot,
      height: script.height ?? (script.outcome === 'dead' ? lastSlot : 0),
    }),
    status,
    lookUpStatus: () => {
      const known = status();
      return known === undefined ? absent(lastSlot) : found(known, lastSlot);
    },
    send: (wire: Buffer) => {
      if (script.refusal !== undefined)
        throw new ChainRefused(-32002, 'refused', { err: script.refusal, logs: [] });
      sent.push(wire);
      return 'sent';
    },
    simulate: () => ({ err: script.simulation, logs: [] }),
    accounts: (addresses: readonly SolanaAddress[]) => addresses.map((address) => script.account(address)),
    genesisHash: () => script.genesisHash,
    account: () => ({ data: tokenAccount(script.tokens), owner: tokenProgram, lamports: 1n }),
  };
  let reached = 0;
  const memory = {
    reached: () => reached,
    reach: (slot: number) => {
      reached = Math.max(reached, slot);
    },
  };
  const asked = Object.fromEntries(
    Object.entries<(...values: never[]) => unknown>(answers).map(([method, answer]) => [
      method,
      async (...values: never[]) => {
        await script.before(method);
        if (script.isAway) throw new ChainUnavailable('away');
        return answer(...values);
      },
    ]),
  );
  const chain = { ...asked, ...memory };
  const programs = namePrograms.mainnet;
  const registry = {
    programs,
    name: async () => {
      await script.before('name');
      if (script.isAway) throw new ChainUnavailable('away');
      return { record: script.record, returned: undefined, reserved: undefined };
    },
    antProgram: async () => programs.ant,
    /** A token without records, which its owner alone writes to. */
    antRecord: async (asset: SolanaAddress) => ({
      ant: { asset, owner, program: programs.ant, controllers: [] },
      ...{ record: undefined, metadata: undefined },
    }),
  };
  const told: ActionRequest[] = [];
  const counted: string[] = [];
  const forgotten: string[] = [];
  const background: Promise<void>[] = [];
  const { log, lines } = rememberingLog('debug');
  const { address, privateKey } = service;
  const key: SolanaKey = { address, sign: (message) => signEd25519(privateKey, message) };
  const context: ActionContext = Object.assign(Object.create(null), {
    ...{ sql, credits, chain, registry, key, log, now },
    prices: {
      action: async () => winc(script.price),
      forget: (name: string) => forgotten.push(name),
      name: async () => {
        await script.before('price');
        if (script.isAway) throw new ChainUnavailable('away');
        const state = { record: script.record, returned: undefined };
        return { total: winc(script.price), surcharge: winc(script.surcharge), mtoken: 5n, state, rates };
      },
    },
    planner: new Planner(key, 1),
    builders: async () => ({
      ...{ programs, arns: arnsBuilder(programs, owner), ant: antBuilder(programs), service: key.address },
    }),
    locks: new Locks(sql),
    settings: { lifeMs: 900_000, maxOpen: 3, defaultTarget: 'T'.repeat(43), timeoutMs: 0 },
    metrics: {
      action: (action: string, outcome: string) => counted.push(`${action} ${outcome}`),
      refund: (reason: string) => counted.push(`refund ${reason}`),
    },
    changed: { done: async (request: ActionRequest) => void told.push(request) },
    later: (work: () => Promise<void>) => void background.push(work()),
  });
  let count = 0;
  /** An action that is paid for and stands where it is said. */
  const add = async (request: ActionRequest, kept: Kept = {}): Promise<Action> => {
    count += 1;
    const nonce = kept.nonce ?? `aaaaaaaa-0000-4000-8000-${String(count).padStart(12, '0')}`;
    const { owned, service: own, before } = kept;
    const columns = {
      ...{ nonce, payer, payer_type: 'solana', payer_nonce: nonce, winc: String(price), mtoken: '5' },
      ...{ token_winc: String(kept.tokenWinc ?? 0n), ant_id: kept.antId ?? null },
      ...{ before_state: before === undefined ? null : JSON.stringify(before) },
      ...{ owner_signs: 0, owner_first: kept.ownerFirst === true ? 1 : 0 },
      ...{ prepared: owned?.wire ?? null, signature: owned?.signature ?? null },
      ...{ last_valid_block_height: owned?.lastValidBlockHeight ?? null },
      ...{ service_wire: own?.wire ?? null, service_signature: own?.signature ?? null },
      ...{ service_last_valid: own?.lastValidBlockHeight ?? null },
      expires_at: kept.expiresAt ?? script.now + 900_000,
    };
    await insertAction(sql, request, columns, kept.updatedAt ?? script.now);
    await sql.run('UPDATE arns_action SET status = ? WHERE nonce = ?', kept.status ?? 'reserved', nonce);
    await credits.reserve({
      ...{ id: nonce, reason: 'arns_action', signer: payer, signerType: 'solana', amount: winc(price) },
    });
    return read(nonce);
  };
  const read = async (nonce: string): Promise<Action> => {
    const action = await findAction(sql, nonce);
    assert.ok(action !== undefined);
    return action;
  };
  return {
    ...{ context, script, sent, told, counted, forgotten, lines, add, read },
    balance: async () => (await credits.balance(payer))?.winc,
    /** When nothing is left to the background. */
    settled: () => Promise.all(background),
  };
}
