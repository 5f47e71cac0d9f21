/** SOL: a transaction with one transfer, signed by the wallet and sent by us to the cluster in use. */
import { concatBytes, decodeBase58, encodeBase64 } from '../../services/encoding.ts';
import { callChain } from './ask.ts';

const systemProgram = new Uint8Array(32);

interface Account {
  readonly key: Uint8Array;
  readonly isSigner: boolean;
  readonly isWritable: boolean;
}

interface Instruction {
  readonly program: Uint8Array;
  readonly accounts: readonly Account[];
  readonly data: Uint8Array;
}

export interface SolTransfer {
  readonly from: string;
  readonly to: string;
  readonly lamports: bigint;
}

/** Wire bytes with an empty place for the one signature. */
export async function newSolTransfer(rpc: string, transfer: SolTransfer): Promise<Uint8Array> {
  return solTransferWith(await latestBlockhash(rpc), transfer);
}

export function solTransferWith(blockhash: string, { from, to, lamports }: SolTransfer): Uint8Array {
  const payer = keyOf(from);
  return unsignedTransaction(payer, keyOf(blockhash), {
    program: systemProgram,
    accounts: [
      { key: payer, isSigner: true, isWritable: true },
      { key: keyOf(to), isSigner: false, isWritable: true },
    ],
    data: concatBytes(Uint8Array.of(2, 0, 0, 0), u64(lamports)),
  });
}

async function latestBlockhash(rpc: string): Promise<string> {
  const answer = (await callChain(rpc, 'getLatestBlockhash', [{ commitment: 'finalized' }])) as {
    value: { blockhash: string };
  };
  return answer.value.blockhash;
}

/** Answers the transaction's signature, which is its id. */
export async function sendSolanaTransaction(rpc: string, transaction: Uint8Array): Promise<string> {
  const options = { encoding: 'base64', preflightCommitment: 'confirmed' };
  return String(await callChain(rpc, 'sendTransaction', [encodeBase64(transaction), options]));
}

/** Puts the signature of one signer into its place. */
export function withSignature(
  transaction: Uint8Array,
  publicKey: Uint8Array,
  signature: Uint8Array,
): Uint8Array {
  const { count, message } = splitTransaction(transaction);
  const place = signerKeys(message).findIndex((key) => key.every((byte, at) => byte === publicKey[at]));
  if (place === -1 || place >= count) throw new RangeError('the wallet is not a signer of this transaction');
  const signed = new Uint8Array(transaction);
  signed.set(signature, 1 + 64 * place);
  return signed;
}

/** What is signed of a transaction. */
export const messageOf = (transaction: Uint8Array): Uint8Array => splitTransaction(transaction).message;

function splitTransaction(transaction: Uint8Array): { count: number; message: Uint8Array } {
  const count = transaction[0] ?? 0;
  // More signers than 127 fit into no packet, so that the count is one byte.
  if (count === 0 || count > 127 || transaction.length < 1 + 64 * count + 4) {
    throw new RangeError('this is no Solana transaction');
  }
  return { count, message: transaction.subarray(1 + 64 * count) };
}

function signerKeys(message: Uint8Array): Uint8Array[] {
  // A version 0 message has its version in front.
  const header = (message[0] ?? 0) >= 0x80 ? 1 : 0;
  const signers = message[header] ?? 0;
  const keys = header + 4;
  return Array.from({ length: signers }, (_, at) => message.subarray(keys + 32 * at, keys + 32 * (at + 1)));
}

/** A legacy message: payer, other writable accounts, read-only ones, the program. */
function unsignedTransaction(
  payer: Uint8Array,
  blockhash: Uint8Array,
  { program, accounts, data }: Instruction,
): Uint8Array {
  const same = (left: Uint8Array, right: Uint8Array): boolean => left.every((byte, at) => byte === right[at]);
  const others = accounts.filter(({ key }) => !same(key, payer));
  const writable = others.filter(({ isWritable }) => isWritable).map(({ key }) => key);
  const readOnly = [...others.filter(({ isWritable }) => !isWritable).map(({ key }) => key), program];
  const keys = [payer, ...writable, ...readOnly];
  const placeOf = (key: Uint8Array): number => keys.findIndex((known) => same(known, key));
  const message = concatBytes(
    Uint8Array.of(1, 0, readOnly.length, keys.length),
    ...keys,
    blockhash,
    Uint8Array.of(1, placeOf(program), accounts.length, ...accounts.map(({ key }) => placeOf(key))),
    Uint8Array.of(data.length),
    data,
  );
  return concatBytes(Uint8Array.of(1), new Uint8Array(64), message);
}

function keyOf(text: string): Uint8Array {
  const bytes = decodeBase58(text);
  if (bytes?.length !== 32) throw new RangeError('this is no Solana address');
  return bytes;
}

function u64(value: bigint): Uint8Array {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, value, true);
  return bytes;
}
