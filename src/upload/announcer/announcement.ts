/** An item's header as gateways are told of it: binary fields in base64url, without the payload. */
import { parseItemHeader } from '../../formats/ans104/item-header.ts';
import { chainTagLimits, walkTags } from '../../formats/avro-tags.ts';

export interface AnnouncedRow {
  readonly id: string;
  readonly size: number;
  readonly payload_start: number;
  readonly content_type: string;
  readonly received_at: number;
  /** Header, and what of the payload is kept with it; null once the local copy was deleted. */
  readonly bytes: Buffer | null;
}

export interface Announcement {
  readonly id: string;
  readonly [field: string]: unknown;
}

/** Undefined for what cannot be announced: its header is not here any more, or cannot be read. */
export function announcementOf(row: AnnouncedRow): Announcement | undefined {
  const header = row.bytes === null ? undefined : parseItemHeader(row.bytes);
  if (header === undefined || typeof header === 'string') return undefined;
  const { tagBytes } = header;
  const tags: { name: string; value: string }[] = [];
  walkTags(tagBytes, 0, tagBytes.length, chainTagLimits, (nameStart, nameEnd, valueStart, valueEnd) => {
    tags.push({
      name: tagBytes.toString('base64url', nameStart, nameEnd),
      value: tagBytes.toString('base64url', valueStart, valueEnd),
    });
  });
  return {
    id: row.id,
    owner: header.owner.toString('base64url'),
    owner_address: header.ownerAddress,
    signature: header.signature.toString('base64url'),
    signature_type: header.signatureType,
    target: header.target.toString('base64url'),
    anchor: header.anchor.toString('base64url'),
    content_type: row.content_type,
    // Of the payload.
    data_size: row.size - row.payload_start,
    tags,
    uploaded_at: row.received_at,
  };
}
