/** An item's header as it is announced to the gateway: binary fields in base64url, without the payload. */
import { parseItemHeader } from '../../formats/ans104/item-header.ts';
import { chainTagLimits, walkTags } from '../../formats/avro-tags.ts';

export interface ItemAnnouncement {
  readonly id: string;
  readonly owner: string;
  readonly owner_address: string;
  readonly signature: string;
  readonly signature_type: number;
  readonly target: string;
  readonly anchor: string;
  readonly content_type: string;
  /** Of the payload. */
  readonly data_size: number;
  readonly tags: readonly { readonly name: string; readonly value: string }[];
  readonly uploaded_at: number;
}

export interface AnnouncedRow {
  readonly id: string;
  readonly size: number;
  readonly payload_start: number;
  readonly content_type: string;
  readonly received_at: number;
  /** Header, and what of the payload is kept with it. */
  readonly bytes: Buffer;
}

export function announcementOf(row: AnnouncedRow): ItemAnnouncement {
  const header = parseItemHeader(row.bytes);
  if (typeof header === 'string') throw new Error(`the stored header of ${row.id} is broken: ${header}`);
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
    data_size: row.size - row.payload_start,
    tags,
    uploaded_at: row.received_at,
  };
}
