/** What a reader found in a bundle, in a form that two readers can be compared by, and where ours means to differ. */

/** An item that a reader takes for good. */
export interface FoundItem {
  readonly id: string;
  readonly tags: readonly (readonly [name: string, value: string])[];
  /** Base64url SHA-256 of its payload. */
  readonly payload: string;
}

/** Its items, each once; or that the bytes are no bundle. */
export type Reading = readonly FoundItem[] | 'no bundle';

/** The first of several items with one id counts. */
export const eachOnce = (items: readonly FoundItem[]): FoundItem[] =>
  items.filter(({ id }, at) => items.findIndex((one) => one.id === id) === at);

/** By kind, with the reason. Every kind that is not here is read alike, to the last tag. */
export const differences: Readonly<Record<string, string>> = {
  // Read here and not there.
  'more than 4096 tag bytes': 'the chain has them from writers before the limit; 64 KiB bound what is read',
  '20,000 tag bytes': 'the chain has them from writers before the limit; 64 KiB bound what is read',
  'fewer tags than are there':
    'the number of tags is not signed: whoever bundles an item could make it disappear',
  'more tags than are there':
    'the number of tags is not signed: whoever bundles an item could make it disappear',
  'a number of tags without tags':
    'the number of tags is not signed: whoever bundles an item could make it disappear',
  // Read with other tags.
  'tags that are said to be none':
    'the number of tags is not signed: the signed tags are shown, not what it says',
  // Read there and not here.
  'the last size beyond the end': "the reference's streaming reader refuses the cut item too",
  'tag bytes beyond the item': "the reference's streaming reader reads on into the next item",
  'a stated id that is another':
    "the reference's streaming reader refuses it too: the header names another item",
  'ethereum recovery byte raw':
    'only the one of 0 and 1 that leads to the owner: each other byte is another id for one signature',
  'ethereum recovery byte odd': 'each other byte would be another id for the same signature',
  'a length below zero': 'the reference goes back and reads bytes twice: nobody wrote such tags',
  'mangled beyond reading': 'lengths below zero, as above',
};
