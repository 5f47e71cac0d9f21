/**
 * The node's refusals, word for word. Most are plain text, some are `{"error": code}`; which is which is part
 * of the interface that clients read.
 */
export class NodeError extends Error {
  override readonly name = 'NodeError';
  readonly status: number;
  /** A text, or an object to be sent as JSON. */
  readonly body: string | ErrorObject;

  constructor(status: number, body: string | ErrorObject) {
    super(typeof body === 'string' ? body : body.error);
    this.status = status;
    this.body = body;
  }
}

interface ErrorObject {
  readonly status?: number;
  readonly error: string;
}

export const invalidHash = () => new NodeError(400, 'Invalid hash.');
export const invalidAddress = () => new NodeError(400, 'Invalid address.');
export const invalidHeight = () => new NodeError(400, 'Invalid height.');
export const notFound = () => new NodeError(404, 'Not Found.');
export const blockNotFound = () => new NodeError(404, 'Block not found.');
export const unknownRequest = () => new NodeError(400, 'Request type not found.');
export const payloadTooLarge = () => new NodeError(413, 'Payload too large');

export const invalidJson = () => new NodeError(400, 'Invalid JSON.');
export const verificationFailed = () => new NodeError(400, 'Transaction verification failed.');
export const badAnchor = () => new NodeError(400, 'Invalid anchor (last_tx).');
export const anchorInMempool = () => new NodeError(400, 'Invalid anchor (last_tx from mempool).');
export const alreadyOnWeave = () => new NodeError(400, 'Transaction is already on the weave.');
export const alreadyInMempool = () => new NodeError(400, 'Transaction is already in the mempool.');
export const unknownSplit = () => new NodeError(400, 'The attached data is split in an unknown way.');
export const mempoolFull = () => new NodeError(503, '');

export type ChunkRefusal =
  | 'invalid_json'
  | 'chunk_too_big'
  | 'data_path_too_big'
  | 'offset_too_big'
  | 'offset_field_required'
  | 'data_size_too_big'
  | 'chunk_proof_ratio_not_attractive'
  | 'invalid_proof'
  | 'data_root_not_found';

export const chunkRefused = (error: ChunkRefusal) => new NodeError(400, { error });

/** For the routes that only a local network has: what is wrong, in a sentence. */
export const badRequest = (error: string) => new NodeError(400, { error });

/** A page elsewhere on the web has no business with this machine's network. */
export const foreignPage = () =>
  new NodeError(403, { error: 'pages from elsewhere may not control this network' });

/** Refusals that suites written for ArLocal read: the status is in the body too. */
export const arlocalRefusal = (status: number, error: string) => new NodeError(status, { status, error });
