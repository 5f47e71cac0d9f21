/** One piece of work for all who ask for the same at the same time. Who comes after its end begins anew. */
export class Together<K, T> {
  readonly #running = new Map<K, Promise<T>>();

  /** What `work` throws, all who wait for it get. `isForgotten`: what it finds out is not to be kept. */
  run(key: K, work: (isForgotten: () => boolean) => Promise<T>): Promise<T> {
    const joined = this.#running.get(key);
    if (joined !== undefined) return joined;
    const isForgotten = () => this.#running.get(key) !== started;
    const started: Promise<T> = work(isForgotten).finally(() => {
      if (!isForgotten()) this.#running.delete(key);
    });
    this.#running.set(key, started);
    return started;
  }

  /** Who asks from now on does not join what runs. */
  forget(isMeant: (key: K) => boolean): void {
    for (const key of [...this.#running.keys()].filter(isMeant)) this.#running.delete(key);
  }
}
