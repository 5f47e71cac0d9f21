/**
 * Pure functions over bytes, no I/O: base64url, deep hash, chain transactions and merkle trees, ANS-104 data
 * items and bundles, path manifests. Parsers are strict, bounded, and fail only with `FormatError`.
 * This room imports no other; import the file you need, not this index.
 */
export { FormatError } from './format-error.ts';
