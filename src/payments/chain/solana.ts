/** Solana through JSON-RPC: exactly one transfer of lamports, or of one token, to the wallet, outer or inner. */
import { tryDecodeBase58 } from '../../formats/base58.ts';
import { isCount, isRecord, memberOf, textOf } from '../../formats/json.ts';
import type { SolanaAddress } from '../../formats/solana/address.ts';
import { memoProgram, memoProgramV1, systemProgram, tokenProgram } from '../../formats/solana/programs.ts';
import { associatedTokenAddress, tokenInstruction } from '../../formats/solana/token.ts';
import type { JsonRpcNode, JsonRpcPool } from '../../outside/json-rpc.ts';
import { absent, found, type LookUp } from '../../outside/look-up.ts';
import {
  type ChainReader,
  type ChainTransaction,
  destinationIn,
  lookAtAll,
  type PastPayment,
  type Transfer,
} from './chain.ts';

const SIGNATURE_BYTES = 64;
/** SystemInstruction::Transfer: u32 little-endian, then the lamports as u64. */
const TRANSFER = 2;
const TRANSFER_BYTES = 12;

/** Transfer: number and amount. TransferChecked: the decimals too. */
const TOKEN_TRANSFER_BYTES = 9;
const TOKEN_TRANSFER_CHECKED_BYTES = 10;

/** Lamports to a wallet. */
export const solanaReader = (endpoints: JsonRpcPool, wallet: string): ChainReader =>
  readerOf(endpoints, (list, keys, meta) => lamportTransfer(list, keys, meta, wallet));

/** A token to a wallet, which has it in the account that goes by convention. */
export function tokenReader(endpoints: JsonRpcPool, wallet: SolanaAddress, mint: SolanaAddress): ChainReader {
  const account = associatedTokenAddress(wallet, mint);
  return readerOf(endpoints, (list, keys, meta) =>
    tokenTransfer(list, keys, meta, { wallet, mint, account }),
  );
}

const signaturesPerPage = 1_000;
const mostPages = 1_000;

/** Transactions that named an account since a moment (unix milliseconds), the newest first. */
export async function* solanaHistory(
  endpoints: JsonRpcPool,
  account: string,
  since: number,
): AsyncGenerator<PastPayment> {
  let before: string | undefined;
  for (let page = 0; page < mostPages; page += 1) {
    const options = {
      limit: signaturesPerPage,
      commitment: 'finalized',
      ...(before !== undefined && { before }),
    };
    const listed = await endpoints.call('getSignaturesForAddress', [account, options]);
    if (!Array.isArray(listed)) throw new Error('the endpoint listed no transactions');
    for (const one of listed) {
      const seconds = memberOf(one, 'blockTime');
      const at = typeof seconds === 'number' ? seconds * 1000 : undefined;
      if (at !== undefined && at < since) return;
      const id = textOf(one, 'signature');
      if (id !== undefined && (memberOf(one, 'err') ?? null) === null) yield { id, at };
    }
    before = textOf(listed.at(-1), 'signature');
    if (listed.length < signaturesPerPage || before === undefined) return;
  }
  throw new Error('there are more than are listed: ask for a later time');
}

/** The transfer that instructions, outer and inner, make to whom it is read for; it moved what it says, or nothing. */
type FindTransfer = (
  list: readonly Instruction[],
  keys: readonly string[],
  meta: Record<string, unknown>,
) => Transfer;

function readerOf(endpoints: JsonRpcPool, find: FindTransfer): ChainReader {
  return {
    parseId(text) {
      if (text.length > 88) return undefined;
      return tryDecodeBase58(text)?.length === SIGNATURE_BYTES ? text : undefined;
    },
    read: (id) => lookAtAll(endpoints, (node) => readFrom(node, id, find)),
    close: () => endpoints.close(),
  };
}

async function readFrom(
  node: JsonRpcNode,
  id: string,
  find: FindTransfer,
): Promise<LookUp<ChainTransaction>> {
  const read = (commitment: 'finalized' | 'confirmed'): Promise<unknown> =>
    node.call('getTransaction', [id, { commitment, encoding: 'json', maxSupportedTransactionVersion: 0 }]);
  const final = await read('finalized');
  const seen = final ?? (await read('confirmed'));
  if (seen === null || seen === undefined) return statusOf(node, id);
  const { transfer, failed, slot } = readTransaction(seen, find);
  if (final === null || final === undefined) return found({ state: 'pending', transfer }, slot);
  return found({ state: failed ? 'reverted' : 'confirmed', transfer }, slot);
}

/** Whether it is on its way, and else the slot at which the endpoint did not know it, which only this call tells. */
async function statusOf(node: JsonRpcNode, id: string): Promise<LookUp<ChainTransaction>> {
  const answer = await node.call('getSignatureStatuses', [[id], { searchTransactionHistory: true }]);
  const slot = memberOf(memberOf(answer, 'context'), 'slot');
  const statuses = memberOf(answer, 'value');
  if (!isCount(slot) || !Array.isArray(statuses)) throw new Error('the endpoint answered no status');
  return isRecord(statuses[0]) ? found({ state: 'unreadable' }, slot) : absent(slot);
}

interface Instruction {
  readonly program: string;
  readonly accounts: readonly string[];
  readonly data: Buffer;
}

function readTransaction(answer: unknown, find: FindTransfer) {
  if (!isRecord(answer) || !isRecord(answer.meta) || !isRecord(answer.transaction)) {
    throw new Error('the endpoint answered no transaction');
  }
  const { slot, meta } = answer;
  const message = answer.transaction.message;
  const signers = memberOf(memberOf(message, 'header'), 'numRequiredSignatures');
  if (!isRecord(message) || !isCount(slot) || !isCount(signers)) {
    throw new Error('the endpoint answered no message');
  }
  const own = texts(message.accountKeys);
  const keys = [...own, ...loadedKeys(meta.loadedAddresses)];
  const outer = instructions(message.instructions, keys);
  const inner = Array.isArray(meta.innerInstructions)
    ? meta.innerInstructions.flatMap((group) =>
        isRecord(group) ? instructions(group.instructions, keys) : [],
      )
    : [];
  const failed = meta.err !== null && meta.err !== undefined;
  const transfer = find([...outer, ...inner], keys, meta);
  const destination = destinationOf(outer, transfer.sender, own.slice(0, signers));
  return { transfer: { ...transfer, destination, blockHeight: slot }, failed, slot };
}

/**
 * Whom the sender names in a memo. The sender must have signed the transaction, which a program's account that pays
 * from within has not, and the memo must be the sender's: it lists those who stand by it, and one that lists nobody, as
 * published clients send it, belongs to the fee payer, who wrote the transaction.
 */
function destinationOf(
  outer: readonly Instruction[],
  sender: string,
  signers: readonly string[],
): string | undefined {
  if (!signers.includes(sender)) return undefined;
  for (const { program, accounts, data } of outer) {
    if (program !== memoProgram && program !== memoProgramV1) continue;
    const isOwn = accounts.length === 0 ? signers[0] === sender : accounts.includes(sender);
    const destination = isOwn ? destinationIn(data.toString('utf8')) : undefined;
    if (destination !== undefined) return destination;
  }
  return undefined;
}

function lamportTransfer(
  list: readonly Instruction[],
  keys: readonly string[],
  meta: Record<string, unknown>,
  wallet: string,
): Transfer {
  const transfers = list.flatMap(({ program, accounts, data }) => {
    const [sender, recipient] = accounts;
    if (program !== systemProgram || recipient !== wallet || sender === undefined) return [];
    if (data.length !== TRANSFER_BYTES || data.readUInt32LE(0) !== TRANSFER) return [];
    return [{ sender, recipient, quantity: data.readBigUInt64LE(4) }];
  });
  return onlyOne(transfers, keys, meta, balanceChange(meta, keys.indexOf(wallet)));
}

/** Whose tokens they were is who held them: a delegate may have moved them. */
function tokenTransfer(
  list: readonly Instruction[],
  keys: readonly string[],
  meta: Record<string, unknown>,
  to: { readonly wallet: string; readonly mint: string; readonly account: string },
): Transfer {
  const transfers = list.flatMap(({ program, accounts, data }) => {
    if (program !== tokenProgram) return [];
    const isPlain = data.length === TOKEN_TRANSFER_BYTES && data[0] === tokenInstruction.transfer;
    const isChecked =
      data.length === TOKEN_TRANSFER_CHECKED_BYTES && data[0] === tokenInstruction.transferChecked;
    // Checked, the mint stands between.
    const [from, recipient] = isChecked ? [accounts[0], accounts[2]] : [accounts[0], accounts[1]];
    if ((!isPlain && !isChecked) || from === undefined || recipient !== to.account) return [];
    const holder = tokensOf(meta.preTokenBalances, keys.indexOf(from), to.mint)?.owner;
    if (holder === undefined) return [];
    return [{ sender: holder, recipient: to.wallet, quantity: data.readBigUInt64LE(1) }];
  });
  const index = keys.indexOf(to.account);
  const [before, after] = [meta.preTokenBalances, meta.postTokenBalances].map(
    (list) => tokensOf(list, index, to.mint)?.amount ?? 0n,
  );
  return onlyOne(transfers, keys, meta, (after ?? 0n) - (before ?? 0n));
}

/** What the wallet gained must be what the only instruction says: anything else is not a plain payment. */
function onlyOne(
  transfers: readonly Transfer[],
  keys: readonly string[],
  meta: Record<string, unknown>,
  gained: bigint,
): Transfer {
  const [only] = transfers;
  if (only === undefined || transfers.length > 1) return nobody(keys);
  const failed = meta.err !== null && meta.err !== undefined;
  return failed || gained === only.quantity ? only : { ...only, quantity: 0n };
}

/** What one account held of a token, and who held it. */
function tokensOf(
  list: unknown,
  index: number,
  mint: string,
): { readonly owner: string; readonly amount: bigint } | undefined {
  const entries: unknown[] = Array.isArray(list) ? list : [];
  const held = entries.find((entry) => memberOf(entry, 'accountIndex') === index);
  if (textOf(held, 'mint') !== mint) return undefined;
  const [owner, amount] = [textOf(held, 'owner'), textOf(memberOf(held, 'uiTokenAmount'), 'amount')];
  return owner === undefined || amount === undefined ? undefined : { owner, amount: BigInt(amount) };
}

const nobody = (keys: readonly string[]): Transfer => ({
  sender: keys[0] ?? '',
  recipient: '',
  quantity: 0n,
});

function balanceChange(meta: Record<string, unknown>, index: number): bigint {
  const { preBalances, postBalances } = meta;
  if (!Array.isArray(preBalances) || !Array.isArray(postBalances) || index < 0) return 0n;
  const before: unknown = preBalances[index];
  const after: unknown = postBalances[index];
  return typeof before === 'number' && typeof after === 'number' ? BigInt(after) - BigInt(before) : 0n;
}

function instructions(list: unknown, keys: readonly string[]): Instruction[] {
  if (!Array.isArray(list)) return [];
  return list.flatMap((item) => {
    if (!isRecord(item) || typeof item.programIdIndex !== 'number' || !Array.isArray(item.accounts))
      return [];
    const data = typeof item.data === 'string' ? tryDecodeBase58(item.data) : undefined;
    if (data === undefined) return [];
    const accounts = item.accounts.map((index) => keys[Number(index)] ?? '');
    return [{ program: keys[item.programIdIndex] ?? '', accounts, data }];
  });
}

/** Version 0 messages name further accounts in tables; the endpoint has looked them up. */
function loadedKeys(loaded: unknown): string[] {
  return isRecord(loaded) ? [...texts(loaded.writable), ...texts(loaded.readonly)] : [];
}

const texts = (list: unknown): string[] => (Array.isArray(list) ? list.map(String) : []);
