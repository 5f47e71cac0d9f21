/**
 * ANS-104: data items and the bundles that hold them. Reading copies nothing that need not be kept, and
 * answers broken input as values (`ItemProblem`, `BundleProblem`); writing throws `FormatError` for what may
 * not be written. Signatures are made and checked in `wallets/data-items`; here is what they cover
 * (`signed-message.ts`).
 */
export * from './bundle-header.ts';
export * from './bundle-reader.ts';
export * from './item.ts';
export * from './item-header.ts';
export * from './item-parser.ts';
export * from './item-problem.ts';
export * from './signature-types.ts';
export * from './signed-message.ts';
