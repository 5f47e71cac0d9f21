/** Which transactions and items are bundles, and how filters see them. */
import type { Header } from '../chain-index/records.ts';
import type { RawTag } from '../chain-index/tags.ts';
import type { Subject } from '../filters/match.ts';

const formatName = Buffer.from('Bundle-Format');
const formatValue = Buffer.from('binary');
const versionName = Buffer.from('Bundle-Version');
const versionStart = Buffer.from('2.');

/** ANS-104 §3: the two tags, any version 2. */
export function isBundle(tags: readonly RawTag[]): boolean {
  let format = false;
  let version = false;
  for (const { name, value } of tags) {
    if (formatName.equals(name)) format ||= formatValue.equals(value);
    else if (versionName.equals(name))
      version ||= versionStart.equals(value.subarray(0, versionStart.length));
  }
  return format && version;
}

const text = (bytes: Buffer | null): string => (bytes === null ? '' : bytes.toString('base64url'));

const attributes: Readonly<Record<string, (header: Header) => string | number | undefined>> = {
  id: ({ id }) => text(id),
  format: ({ format }) => format,
  anchor: ({ anchor }) => text(anchor),
  last_tx: ({ anchor }) => text(anchor),
  owner: ({ ownerKey }) => text(ownerKey),
  owner_address: ({ ownerAddress }) => text(ownerAddress),
  target: ({ target }) => text(target),
  quantity: ({ quantity }) => quantity,
  reward: ({ reward }) => reward,
  signature: ({ signature }) => text(signature),
  signature_type: ({ signatureType }) => signatureType,
  data_size: ({ dataSize }) => dataSize,
  data_root: ({ dataRoot }) => text(dataRoot),
  content_type: ({ tags }) => tagValue(tags, 'content-type'),
  content_encoding: ({ tags }) => tagValue(tags, 'content-encoding'),
};

/** A record as filters see it; `parent` and `root` are ids, for items. */
export function subjectOf(header: Header, parent?: string, root?: string): Subject {
  return {
    tags: header.tags,
    attribute(name) {
      if (name === 'parent_id') return parent;
      if (name === 'root_tx_id' || name === 'root_transaction_id') return root;
      return attributes[name]?.(header);
    },
  };
}

function tagValue(tags: readonly RawTag[], lowerName: string): string | undefined {
  const found = tags.find(({ name }) => Buffer.from(name).toString('latin1').toLowerCase() === lowerName);
  return found && Buffer.from(found.value).toString('utf8');
}
