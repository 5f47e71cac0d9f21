/** Solana through JSON-RPC: exactly one transfer of lamports to the wallet, outer or inner. */
import { tryDecodeBase58 } from '../../formats/base58.ts';
import { isCount, isRecord, memberOf } from '../../formats/json.ts';
import { memoProgram, memoProgramV1, systemProgram } from '../../formats/solana/programs.ts';
import type { JsonRpcNode, JsonRpcPool } from '../../outside/json-rpc.ts';
import { absent, found, type LookUp } from '../../outside/look-up.ts';
import { type ChainReader, type ChainTransaction, destinationIn, lookAtAll, type Transfer } from './chain.ts';

const SIGNATURE_BYTES = 64;
/** SystemInstruction::Transfer: u32 little-endian, then the lamports as u64. */
const TRANSFER = 2;
const TRANSFER_BYTES = 12;

export function solanaReader(endpoints: JsonRpcPool, wallet: string): ChainReader {
  return {
    parseId(text) {
      if (text.length > 88) return undefined;
      return tryDecodeBase58(text)?.length === SIGNATURE_BYTES ? text : undefined;
    },
    read: (id) => lookAtAll(endpoints, (node) => readFrom(node, id, wallet)),
    close: () => endpoints.close(),
  };
}

async function readFrom(node: JsonRpcNode, id: string, wallet: string): Promise<LookUp<ChainTransaction>> {
  const read = (commitment: 'finalized' | 'confirmed'): Promise<unknown> =>
    node.call('getTransaction', [id, { commitment, encoding: 'json', maxSupportedTransactionVersion: 0 }]);
  const final = await read('finalized');
  const seen = final ?? (await read('confirmed'));
  if (seen === null || seen === undefined) return statusOf(node, id);
  const { transfer, failed, slot } = readTransaction(seen, wallet);
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

function readTransaction(answer: unknown, wallet: string) {
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
  const transfer = onlyTransfer([...outer, ...inner], wallet) ?? nobody(keys);
  const moved = balanceChange(meta, keys.indexOf(wallet));
  const failed = meta.err !== null && meta.err !== undefined;
  // What the wallet gained must be what the instruction says: anything else is not a plain payment.
  const quantity = failed || moved === transfer.quantity ? transfer.quantity : 0n;
  const destination = destinationOf(outer, transfer.sender, own.slice(0, signers));
  return { transfer: { ...transfer, quantity, destination, blockHeight: slot }, failed, slot };
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

function onlyTransfer(list: readonly Instruction[], wallet: string): Transfer | undefined {
  const transfers = list.flatMap(({ program, accounts, data }) => {
    const [sender, recipient] = accounts;
    if (program !== systemProgram || recipient !== wallet || sender === undefined) return [];
    if (data.length !== TRANSFER_BYTES || data.readUInt32LE(0) !== TRANSFER) return [];
    return [{ sender, recipient, quantity: data.readBigUInt64LE(4) }];
  });
  return transfers.length === 1 ? transfers[0] : undefined;
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
