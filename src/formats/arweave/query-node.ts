/** What the public query schema (GraphQL) says of a transaction or a data item, at every gateway. */

export interface QueryAmount {
  readonly winston: string;
  readonly ar: string;
}

export interface QueryBlock {
  /** `indep_hash`. */
  readonly id: string;
  /** Unix seconds. */
  readonly timestamp: number;
  readonly height: number;
  readonly previous: string;
}

export interface QueryNode {
  readonly id: string;
  readonly anchor: string;
  readonly signature: string;
  readonly signatureType: number | null;
  readonly recipient: string;
  readonly owner: { readonly address: string; readonly key: string };
  readonly fee: QueryAmount;
  readonly quantity: QueryAmount;
  readonly data: { readonly size: string; readonly type: string | null };
  readonly tags: readonly { readonly name: string; readonly value: string }[];
  readonly block: QueryBlock | null;
  readonly bundledIn: { readonly id: string } | null;
}
