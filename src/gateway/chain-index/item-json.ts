import { itemAsTransaction } from '../../formats/arweave/item-json.ts';
import type { Located, Proof } from './gateway-index.ts';

/** A data item of the index in the JSON of a node. `proof` is undefined where only an announcement of it was seen. */
export function itemJson(located: Located, proof: Proof | undefined): Record<string, unknown> {
  const { placement } = located;
  return itemAsTransaction({
    ...located,
    owner: proof?.owner ?? '',
    signature: proof?.signature ?? '',
    size: String(located.size),
    parent: placement?.parent === '' ? undefined : placement?.parent,
    root: placement?.root,
  });
}
