/**
 * Raw data that somebody paid for: the service makes a data item of it and signs it. The item is the same whenever
 * the same payer sends the same data and tags, so that a repeated request finds what the first one stored.
 */
import { encodeItemTags, parseItemHeader } from '../../formats/ans104/item-header.ts';
import type { Tag } from '../../formats/avro-tags.ts';
import { FormatError } from '../../formats/format-error.ts';
import { memberOf, tryParseJson } from '../../formats/json.ts';
import { HttpError } from '../../kernel/errors.ts';
import type { ArweaveKey } from '../../wallets/arweave/rsa.ts';
import { arweaveSigner, signItemHeader } from '../../wallets/data-items/signer.ts';
import { approvalTagNames } from '../intake/approval-tags.ts';
import type { Admitted } from '../intake/intake.ts';

/** Type, signature, owner, no target, no anchor, and the tag counters of an item signed with RSA. */
const fixedBytes = 2 + 512 + 512 + 2 + 16;
const payerTag = 'Payer-Address';
const systemTags: ReadonlySet<string> = new Set(['bundler', payerTag.toLowerCase()]);
/** As long as every payer's address. */
const anyPayer = `0x${'0'.repeat(40)}`;

const badTags = (why: string) => new HttpError(400, `Invalid x-data-item-tags header: ${why}`);

/** User tags from `x-data-item-tags` (JSON) and the request's content type; names that are ours are left out. */
export function readUserTags(header: string | string[] | undefined, contentType: string | undefined): Tag[] {
  const tags = parseTags(header);
  const kept = tags.filter(({ name }) => !systemTags.has(name.toLowerCase()) && !approvalTagNames.has(name));
  const named = kept.some(({ name }) => name.toLowerCase() === 'content-type');
  const stated =
    contentType === undefined || contentType === 'application/octet-stream' ? undefined : contentType;
  return named || stated === undefined ? kept : [{ name: 'Content-Type', value: stated }, ...kept];
}

function parseTags(header: string | string[] | undefined): Tag[] {
  if (header === undefined || header === '') return [];
  const parsed = tryParseJson(String(header));
  if (parsed === undefined) throw badTags('it is not JSON');
  if (!Array.isArray(parsed)) throw badTags('it is not a list');
  return parsed.map((entry: unknown) => {
    const [name, value] = [memberOf(entry, 'name'), memberOf(entry, 'value')];
    if (typeof name !== 'string' || typeof value !== 'string') {
      throw badTags('each entry must be {name, value}');
    }
    return { name, value };
  });
}

function allTags(userTags: readonly Tag[], payer: string): Tag[] {
  return [...userTags, { name: 'Bundler', value: 'Turnpike' }, { name: payerTag, value: payer }];
}

/** Bytes of the item that data of this size will become: exact, before it is known who pays. */
export function unsignedItemBytes(dataBytes: number, userTags: readonly Tag[]): number {
  try {
    return fixedBytes + encodeItemTags(allTags(userTags, anyPayer)).length + dataBytes;
  } catch (error) {
    if (error instanceof FormatError) throw badTags('the tags are beyond the limits of a data item');
    throw error;
  }
}

/** Signs the header of the item; the data is known by its deep hash. */
export async function makeUnsignedItem(
  key: ArweaveKey,
  userTags: readonly Tag[],
  payer: string,
  dataHash: Buffer,
): Promise<Admitted> {
  const signer = arweaveSigner(key, { saltLength: 0 });
  const header = parseItemHeader(await signItemHeader({ tags: allTags(userTags, payer) }, signer, dataHash));
  if (typeof header === 'string') throw new Error(`an item was made that is none: ${header}`);
  return { header, id: header.id, signer: { kind: 'arweave', address: key.address }, order: undefined };
}
