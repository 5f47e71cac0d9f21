/** The deep hash of a payload while it streams: here for a small one, on a thread for a large one. */
import { hash } from 'node:crypto';
import { DeepHashBlob, deepHashAppend } from '../../formats/deep-hash.ts';
import { HashThreads, hashHere, type StreamHash } from '../../kernel/hashing/hash-threads.ts';

export type PayloadHash = StreamHash;

export class PayloadHashes {
  readonly #threads: HashThreads;

  constructor(maxThreads: number) {
    this.#threads = new HashThreads('sha384', maxThreads);
  }

  /** `size` is what is known of the payload's length. */
  begin(size: number | undefined): PayloadHash {
    const thread = this.#threads.begin(size);
    return thread === undefined ? hashHere(new DeepHashBlob()) : deepHash(thread);
  }

  close(): Promise<void> {
    return this.#threads.close();
  }
}

/** The deep hash of a blob, by the SHA-384 of its bytes. */
function deepHash(bytesHash: StreamHash): PayloadHash {
  let size = 0;
  return {
    update(bytes) {
      size += bytes.length;
      return bytesHash.update(bytes);
    },
    digest: async () => deepHashAppend(hash('sha384', `blob${size}`, 'buffer'), await bytesHash.digest()),
    release: () => bytesHash.release(),
  };
}
