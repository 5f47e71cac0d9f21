/** The deep hash of a payload while it streams: here for a small one, on a thread for a large one. */
import { DeepHashBlob } from '../../formats/deep-hash.ts';
import { type HashThread, HashThreads } from './hash-threads.ts';

/** Below this a thread is not worth its wake-up. */
const threadedBytes = 2 * 1024 * 1024;

export interface PayloadHash {
  /** The answer is to be awaited before the next call; the bytes may be used meanwhile, not changed. */
  update(bytes: Uint8Array): Promise<void> | undefined;
  digest(): Promise<Buffer>;
  /** Always called, whatever happened. */
  release(): void;
}

export class PayloadHashes {
  readonly #threads: HashThreads;

  constructor(maxThreads: number) {
    this.#threads = new HashThreads(maxThreads);
  }

  /** `size` is what is known of the payload's length. */
  begin(size: number | undefined): PayloadHash {
    const thread = size !== undefined && size >= threadedBytes ? this.#threads.take() : undefined;
    return thread === undefined ? hashHere() : this.#hashOnThread(thread);
  }

  close(): Promise<void> {
    return this.#threads.close();
  }

  #hashOnThread(thread: HashThread): PayloadHash {
    return {
      update: (bytes) => thread.update(bytes),
      digest: () => thread.digest(),
      release: () => void this.#threads.release(thread),
    };
  }
}

function hashHere(): PayloadHash {
  const hash = new DeepHashBlob();
  return {
    update(bytes) {
      hash.update(bytes);
      return undefined;
    },
    digest: async () => hash.digest(),
    release() {},
  };
}
