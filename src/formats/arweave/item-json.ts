/** A data item in the shape of a chain transaction (interface §2), for clients that know no other. */

export interface ItemFields {
  readonly id: string;
  readonly anchor: string;
  /** The public key in base64url, as the signature; empty where it is not known. */
  readonly owner: string;
  readonly signature: string;
  readonly tags: readonly { readonly name: string; readonly value: string }[];
  readonly target: string;
  /** Bytes, in decimal. */
  readonly size: string;
  readonly ownerAddress: string;
  readonly signatureType: number | undefined;
  /** The bundle that it is in. */
  readonly parent?: string | undefined;
  /** The transaction that carries it. */
  readonly root?: string | undefined;
  readonly contentType?: string | undefined;
}

export function itemAsTransaction(item: ItemFields): Record<string, unknown> {
  const { parent, root, contentType } = item;
  return {
    format: 1,
    id: item.id,
    last_tx: item.anchor,
    owner: item.owner,
    tags: item.tags.map(({ name, value }) => ({
      name: Buffer.from(name).toString('base64url'),
      value: Buffer.from(value).toString('base64url'),
    })),
    target: item.target,
    quantity: '0',
    data: '',
    data_size: item.size,
    data_tree: [],
    data_root: '',
    reward: '0',
    signature: item.signature,
    owner_address: item.ownerAddress,
    signature_type: item.signatureType,
    ...(parent !== undefined && { parent_id: parent }),
    ...(root !== undefined && { root_transaction_id: root }),
    ...(contentType !== undefined && { content_type: contentType }),
  };
}
