/** Threads that hash streams, made when they are first needed and kept for the next. */
import { type HashAlgorithm, HashThread } from './hash-thread.ts';

/** Below this a thread is not worth its wake-up. */
const threadedBytes = 2 * 1024 * 1024;

export interface StreamHash {
  /** The answer is to be awaited before the next call; the bytes may be used meanwhile, not changed. */
  update(bytes: Uint8Array): Promise<void> | undefined;
  digest(): Promise<Buffer>;
  /** Always called, whatever happened. */
  release(): void;
}

export class HashThreads {
  readonly #algorithm: HashAlgorithm;
  readonly #maxThreads: number;
  readonly #free: HashThread[] = [];
  readonly #all = new Set<HashThread>();
  #closed = false;

  constructor(algorithm: HashAlgorithm, maxThreads: number) {
    this.#algorithm = algorithm;
    this.#maxThreads = maxThreads;
  }

  /**
   * `size` is what is known of the stream's length. Undefined for a small one, and when all threads are busy: it is to be
   * hashed here then, so that nobody waits for a thread.
   */
  begin(size: number | undefined): StreamHash | undefined {
    const thread = size !== undefined && size >= threadedBytes ? this.#take() : undefined;
    if (thread === undefined) return undefined;
    let isReleased = false;
    return {
      update: (bytes) => thread.update(bytes),
      digest: () => thread.digest(),
      release: () => {
        if (!isReleased) void this.#release(thread);
        isReleased = true;
      },
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
      thread = new HashThread(this.#algorithm, (broken) => this.#all.delete(broken));
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

interface PlainHash {
  update(bytes: Uint8Array): unknown;
  digest(): Buffer;
}

/** On the event loop; goes on with what is hashed already. */
export function hashHere(hash: PlainHash): StreamHash {
  return {
    update(bytes) {
      hash.update(bytes);
      return undefined;
    },
    digest: async () => hash.digest(),
    release() {},
  };
}
