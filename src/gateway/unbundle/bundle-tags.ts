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

/** A record as filters see it; `parent` and `root` are ids, for items. */
export function subjectOf(header: Header, parent?: string, root?: string): Subject {
  const text = (bytes: Buffer | null) => (bytes === null ? '' : bytes.toString('base64url'));
  return {
    tags: header.tags,
    attribute(name) {
      switch (name) {
        case 'id':
          return text(header.id);
        case 'format':
          return header.format;
        case 'anchor':
        case 'last_tx':
          return text(header.anchor);
        case 'owner':
          return text(header.ownerKey);
        case 'owner_address':
          return text(header.ownerAddress);
        case 'target':
          return text(header.target);
        case 'quantity':
          return header.quantity;
        case 'reward':
          return header.reward;
        case 'signature':
          return text(header.signature);
        case 'signature_type':
          return header.signatureType;
        case 'data_size':
          return header.dataSize;
        case 'data_root':
          return text(header.dataRoot);
        case 'content_type':
          return tagValue(header.tags, 'content-type');
        case 'content_encoding':
          return tagValue(header.tags, 'content-encoding');
        case 'parent_id':
          return parent;
        case 'root_tx_id':
        case 'root_transaction_id':
          return root;
        default:
          return undefined;
      }
    },
  };
}

function tagValue(tags: readonly RawTag[], lowerName: string): string | undefined {
  const found = tags.find(({ name }) => Buffer.from(name).toString('latin1').toLowerCase() === lowerName);
  return found && Buffer.from(found.value).toString('utf8');
}
