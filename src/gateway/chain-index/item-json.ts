/** A data item in the shape of a chain transaction (interface §2), for clients that know no other. */
import type { Located, Proof } from './gateway-index.ts';

/** `proof` is undefined where only an announcement of the item was seen. */
export function itemJson(located: Located, proof: Proof | undefined): Record<string, unknown> {
  return {
    format: 1,
    id: located.id,
    last_tx: located.anchor,
    owner: proof?.owner ?? '',
    tags: located.tags.map(({ name, value }) => ({
      name: Buffer.from(name).toString('base64url'),
      value: Buffer.from(value).toString('base64url'),
    })),
    target: located.target,
    quantity: '0',
    data: '',
    data_size: String(located.size),
    data_tree: [],
    data_root: '',
    reward: '0',
    signature: proof?.signature ?? '',
    owner_address: located.ownerAddress,
    signature_type: located.signatureType,
    ...(located.placement !== undefined && {
      ...(located.placement.parent !== '' && { parent_id: located.placement.parent }),
      root_transaction_id: located.placement.root,
    }),
    ...(located.contentType !== undefined && { content_type: located.contentType }),
  };
}
