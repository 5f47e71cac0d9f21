/**
 * The chain's own formats: transactions (versions 1 and 2), how data is cut into chunks, the merkle trees of
 * data and of blocks with their proofs. Pure; calls only its siblings in `formats`.
 */
export { ChunkStream } from './chunk-stream.ts';
export { CHUNK_BYTES, chunkEnds, type Split } from './chunks.ts';
export { DataRootBuilder, DataTree, dataRootOf } from './data-root.ts';
export { type ProofRules, type ProvenLeaf, verifyPath } from './proof.ts';
export type { Tag, Transaction, UnsignedTransaction } from './transaction.ts';
export { parseTransactionJson, type TransactionJson, transactionToJson } from './transaction-json.ts';
export {
  signatureData,
  signTransaction,
  transactionOwner,
  verifyTransaction,
} from './transaction-signature.ts';
