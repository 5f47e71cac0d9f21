/**
 * What can be wrong with a data item. Parsers answer these as values: an item that breaks the format is an
 * everyday input, not a failure of the program.
 */
export const itemProblems = {
  truncated: 'the item ends inside its header',
  'unknown-signature-type': 'the signature type is not known',
  'target-presence': 'the target presence byte is neither 0 nor 1',
  'anchor-presence': 'the anchor presence byte is neither 0 nor 1',
  'too-many-tags': 'there are more tags than are allowed',
  'too-many-tag-bytes': 'the tags take more bytes than are allowed',
  'tag-count': 'the stated number of tags is not the number there is',
  tags: 'the tags are not exactly one Avro array within the limits',
  'id-mismatch': 'the id in the bundle is not the SHA-256 of the signature',
  signature: 'the signature does not verify',
} as const;

export type ItemProblem = keyof typeof itemProblems;

function isItemProblem(result: unknown): result is ItemProblem {
  return typeof result === 'string' && Object.hasOwn(itemProblems, result);
}

/** Every problem, in a fixed order: its index stands for it where results are kept in columns. */
export const itemProblemCodes: readonly ItemProblem[] = Object.keys(itemProblems).filter((name) =>
  isItemProblem(name),
);
