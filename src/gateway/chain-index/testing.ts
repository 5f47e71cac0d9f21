/** Records for tests: made from a seed, without keys, so that thousands cost nothing. */
import { createHash } from 'node:crypto';
import { DATA_ITEM } from './order.ts';
import type { Criteria } from './page-request.ts';
import type { Entry, Header, Mined, Placed } from './records.ts';
import type { RawTag } from './tags.ts';

/** Criteria that every record meets. */
export const everything: Criteria = {
  groups: [],
  none: [],
  minPos: 0,
  maxPos: Number.MAX_SAFE_INTEGER,
  minIngested: undefined,
  maxIngested: undefined,
  records: undefined,
};

export function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

export const rawTags = (
  tags: Readonly<Record<string, string>> | readonly (readonly [string, string])[],
): RawTag[] =>
  (Array.isArray(tags) ? tags : Object.entries(tags)).map(([name, value]) => ({
    name: Buffer.from(name),
    value: Buffer.from(value),
  }));

export function header(name: string, fields: Partial<Header> = {}): Header {
  const ownerKey = fields.ownerKey === undefined ? Buffer.from(`key of ${name}`) : fields.ownerKey;
  return {
    id: digest(name),
    kind: 0,
    ownerKey,
    ownerAddress:
      ownerKey === null ? digest(`address of ${name}`) : createHash('sha256').update(ownerKey).digest(),
    signature: Buffer.from(`signature of ${name}`),
    signatureType: 1,
    format: 2,
    target: null,
    anchor: null,
    quantity: '0',
    reward: '0',
    denomination: 0,
    dataSize: 0,
    dataRoot: null,
    tags: [],
    ...fields,
  };
}

export function entry(
  given: Header,
  mined?: Mined,
  rest: {
    readonly placed?: Placed;
    readonly bundle?: Buffer;
    readonly hash?: Buffer;
    readonly verified?: boolean;
  } = {},
): Entry {
  return {
    header: given,
    mined,
    placed: rest.placed,
    bundle: rest.bundle,
    hash: rest.hash,
    verified: rest.verified ?? false,
  };
}

/**
 * An item in a bundle, the `at`-th of it: each has a header of 1,044 bytes and room for 56 of payload. The payload of the
 * bundle begins at `parentOffset` of the root.
 */
export function bundledItem(
  name: string,
  root: number,
  fields: Partial<Header> = {},
  { parent = root, parentOffset = 0, height = 5, at = 0 } = {},
): Entry {
  const dataSize = fields.dataSize ?? 7;
  const itemOffset = 96 + at * 1_100;
  const dataOffset = itemOffset + 1_044;
  const itemSize = 1_044 + dataSize;
  return entry(
    header(name, { kind: DATA_ITEM, dataSize, ...fields }),
    { height, blockIndex: 0 },
    {
      placed: { root, parent, parentOffset, itemOffset, dataOffset, itemSize },
      bundle: digest('root'),
      hash: digest(`hash of ${name}`),
      verified: true,
    },
  );
}
