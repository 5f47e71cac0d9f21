/** What signatures of transactions, items and receipts are made of: SHA-384 over a list of byte strings. */
import { concatBytes, utf8 } from '../../../services/encoding.ts';

const sha384 = async (bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> =>
  new Uint8Array(await crypto.subtle.digest('SHA-384', bytes));

export type DeepHashInput = Uint8Array<ArrayBuffer> | string | readonly DeepHashInput[];

/** Text stands for its UTF-8 bytes. */
export async function deepHash(input: DeepHashInput): Promise<Uint8Array<ArrayBuffer>> {
  if (typeof input === 'string') return await deepHash(utf8(input));
  if (input instanceof Uint8Array) {
    return await sha384(concatBytes(await sha384(utf8(`blob${input.length}`)), await sha384(input)));
  }
  let hash = await sha384(utf8(`list${input.length}`));
  for (const element of input) hash = await sha384(concatBytes(hash, await deepHash(element)));
  return hash;
}
