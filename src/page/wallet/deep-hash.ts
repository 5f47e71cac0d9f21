/** Deep hash (SHA-384 over a tree of blobs and lists) by the browser: what Arweave's signatures are made over. */
import { concatBytes, utf8 } from '../services/encoding.ts';

/** Text stands for its UTF-8 bytes. */
export type DeepHashInput = Uint8Array | string | readonly DeepHashInput[];

const sha384 = async (bytes: Uint8Array): Promise<Uint8Array> =>
  new Uint8Array(await crypto.subtle.digest('SHA-384', new Uint8Array(bytes)));

export async function deepHash(input: DeepHashInput): Promise<Uint8Array> {
  if (typeof input === 'string') return deepHash(utf8(input));
  if (input instanceof Uint8Array) return blobHash(input.length, await sha384(input));
  let accumulator = await listHash(input.length);
  for (const element of input) accumulator = await appendHash(accumulator, await deepHash(element));
  return accumulator;
}

/** The accumulator of a list before its first element. */
export const listHash = (length: number): Promise<Uint8Array> => sha384(utf8(`list${length}`));

/** The accumulator after one more element, given that element's deep hash. */
export const appendHash = (accumulator: Uint8Array, elementHash: Uint8Array): Promise<Uint8Array> =>
  sha384(concatBytes(accumulator, elementHash));

/** Of a blob whose SHA-384 is known already. */
export async function blobHash(length: number, hashOfBytes: Uint8Array): Promise<Uint8Array> {
  return sha384(concatBytes(await sha384(utf8(`blob${length}`)), hashOfBytes));
}
