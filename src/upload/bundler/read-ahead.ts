/** Loads what comes next while somebody is busy with what came before, and hands it out in order. */

export interface AheadLimits {
  /** Loaded or being loaded, and not handed out yet. */
  readonly most: number;
  /** Of these together; one that is larger by itself is loaded alone. */
  readonly bytes: number;
}

/** `load` does not reject. */
export async function* readAhead<T, R>(
  source: AsyncIterable<T>,
  bytesOf: (one: T) => number,
  load: (one: T) => Promise<R>,
  limits: AheadLimits,
): AsyncGenerator<R> {
  const ahead: { readonly bytes: number; readonly loaded: Promise<R> }[] = [];
  const coming = source[Symbol.asyncIterator]();
  let held = 0;
  try {
    let next = await coming.next();
    while (next.done !== true || ahead.length > 0) {
      while (next.done !== true) {
        const bytes = bytesOf(next.value);
        const isFull = ahead.length >= limits.most || held + bytes > limits.bytes;
        if (isFull && ahead.length > 0) break;
        held += bytes;
        ahead.push({ bytes, loaded: load(next.value) });
        next = await coming.next();
      }
      const first = ahead.shift();
      if (first === undefined) continue;
      const loaded = await first.loaded;
      held -= first.bytes;
      yield loaded;
    }
  } finally {
    await coming.return?.();
    await Promise.all(ahead.map(({ loaded }) => loaded));
  }
}
