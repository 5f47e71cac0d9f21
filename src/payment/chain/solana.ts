/** Solana through JSON-RPC: exactly one transfer of lamports to the wallet, outer or inner. */
import { tryDecodeBase58 } from '../../formats/base58.ts';
import { memoProgram, memoProgramV1, systemProgram } from '../../formats/solana/programs.ts';
import { type ChainReader, type ChainTransaction, destinationIn, type Transfer } from './chain.ts';
import { callRpc, isRecord } from './http.ts';

export interface SolanaReaderOptions {
  readonly rpcUrl: string;
  readonly wallet: string;
}

const SIGNATURE_BYTES = 64;
/** SystemInstruction::Transfer: u32 little-endian, then the lamports as u64. */
const TRANSFER = 2;
const TRANSFER_BYTES = 12;

export function solanaReader({ rpcUrl, wallet }: SolanaReaderOptions): ChainReader {
  const fetch = (id: string, commitment: 'finalized' | 'confirmed'): Promise<unknown> =>
    callRpc(rpcUrl, 'getTransaction', [
      id,
      { commitment, encoding: 'json', maxSupportedTransactionVersion: 0 },
    ]);
  return {
    parseId(text) {
      if (text.length > 88) return undefined;
      return tryDecodeBase58(text)?.length === SIGNATURE_BYTES ? text : undefined;
    },
    async read(id): Promise<ChainTransaction> {
      const final = await fetch(id, 'finalized');
      const found = final ?? (await fetch(id, 'confirmed'));
      if (found === null || found === undefined) return { state: 'not-found' };
      const { transfer, failed } = readTransaction(found, wallet);
      if (final === null || final === undefined) return { state: 'pending', transfer };
      return { state: failed ? 'reverted' : 'confirmed', transfer };
    },
  };
}

interface Instruction {
  readonly program: string;
  readonly accounts: readonly string[];
  readonly data: Buffer;
}

function readTransaction(answer: unknown, wallet: string): { transfer: Transfer; failed: boolean } {
  if (!isRecord(answer) || !isRecord(answer.meta) || !isRecord(answer.transaction)) {
    throw new Error('the endpoint answered no transaction');
  }
  const { slot, meta } = answer;
  const message = answer.transaction.message;
  if (!isRecord(message) || typeof slot !== 'number') throw new Error('the endpoint answered no message');
  const keys = [...texts(message.accountKeys), ...loadedKeys(meta.loadedAddresses)];
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
  const memo = outer.find(({ program }) => program === memoProgram || program === memoProgramV1);
  const destination = memo === undefined ? undefined : destinationIn(memo.data.toString('utf8'));
  return { transfer: { ...transfer, quantity, destination, blockHeight: slot }, failed };
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
