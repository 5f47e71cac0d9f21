/** AR: a transaction without data, signed and posted to a gateway or node. */
import { decodeBase64, encodeBase64url, utf8 } from '../../services/encoding.ts';
import { deepHash } from '../deep-hash.ts';
import { askChain } from './ask.ts';

/** As nodes take it and wallets sign it (format 2); bytes are base64url. */
export interface ArweaveTransaction {
  readonly format: 2;
  readonly id: string;
  readonly last_tx: string;
  readonly owner: string;
  readonly tags: readonly { readonly name: string; readonly value: string }[];
  readonly target: string;
  readonly quantity: string;
  readonly data: string;
  readonly data_size: string;
  readonly data_root: string;
  readonly reward: string;
  readonly signature: string;
}

interface Transfer {
  readonly to: string;
  readonly winston: bigint;
}

export async function newTransfer(node: string, { to, winston }: Transfer): Promise<ArweaveTransaction> {
  const [anchor, fee] = await Promise.all([askChain(`${node}/tx_anchor`), askChain(`${node}/price/0/${to}`)]);
  return {
    format: 2,
    id: '',
    last_tx: anchor.trim(),
    owner: '',
    tags: [],
    target: to,
    quantity: String(winston),
    data: '',
    data_size: '0',
    data_root: '',
    reward: String(BigInt(fee)),
    signature: '',
  };
}

/** What the wallet signs of a transaction that has its owner. */
export function transactionMessage(transaction: ArweaveTransaction): Promise<Uint8Array> {
  const { owner, target, quantity, reward, last_tx, tags, data_size, data_root } = transaction;
  const bytes = (text: string): Uint8Array => decodeBase64(text) ?? new Uint8Array();
  const tagList = tags.map(({ name, value }) => [bytes(name), bytes(value)]);
  return deepHash([
    utf8('2'),
    bytes(owner),
    bytes(target),
    quantity,
    reward,
    bytes(last_tx),
    tagList,
    data_size,
    bytes(data_root),
  ]);
}

export async function signTransfer(
  unsigned: ArweaveTransaction,
  modulus: Uint8Array,
  sign: (message: Uint8Array) => Promise<Uint8Array>,
): Promise<ArweaveTransaction> {
  const owned = { ...unsigned, owner: encodeBase64url(modulus) };
  const signature = await sign(await transactionMessage(owned));
  const id = await crypto.subtle.digest('SHA-256', new Uint8Array(signature));
  return { ...owned, signature: encodeBase64url(signature), id: encodeBase64url(new Uint8Array(id)) };
}

export async function postTransfer(node: string, transaction: ArweaveTransaction): Promise<string> {
  const body = JSON.stringify(transaction);
  await askChain(`${node}/tx`, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  return transaction.id;
}
