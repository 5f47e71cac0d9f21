/** The deep hash of a payload while it streams: here for a small one, on a thread for a large one. */
import { DeepHashBlob } from '../../formats/deep-hash.ts';
import { HashThread } from './hash-thread.ts';

/** Below this a thread is not worth its wake-up. */
const threadedBytes = 2 * 1024 * 1024;

export interface PayloadHash {
  /** The answer is to be awaited before the next call; the bytes may be used meanwhile, not changed. */
  update(bytes: Uint8Array): Promise<void> | undefined;
  digest(): Promise<Buffer>;
  /** Always called, whatever happened. */
  release(): void;
}

/** When all threads are busy a payload is hashed here, so that nobody waits for a thread. */
export class PayloadHashes {
  readonly #maxThreads: number;
  readonly #free: HashThread[] = [];
  readonly #all = new Set<HashThread>();
  #closed = false;

  constructor(maxThreads: number) {
    this.#maxThreads = maxThreads;
  }

  /** `size` is what is known of the payload's length. */
  begin(size: number | undefined): PayloadHash {
    const thread = size !== undefined && size >= threadedBytes ? this.#take() : undefined;
    if (thread === undefined) return hashHere(new DeepHashBlob());
    return {
      update: (bytes) => thread.update(bytes),
      digest: () => thread.digest(),
      release: () => void this.#release(thread),
    };
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#all].map((thread) => thread.end()));
  }

  #take(): HashThread | undefined {
    let thread = this.#free.pop();
    if (thread === undefined) {
      if (this.#closed || this.#all.size >= this.#maxThreads) return undefined;
      thread = new HashThread((broken) => this.#all.delete(broken));
      this.#all.add(thread);
    }
    thread.hold(true);
    return thread;
  }

  async #release(thread: HashThread): Promise<void> {
    await thread.reset().catch(() => {});
    thread.hold(false);
    if (this.#closed) await thread.end();
    else if (thread.alive) this.#free.push(thread);
  }
}

/** Goes on with what is hashed already. */
export function hashHere(hash: DeepHashBlob): PayloadHash {
  return {
    update(bytes) {
      hash.update(bytes);
      return undefined;
    },
    digest: async () => hash.digest(),
    release() {},
  };
}
