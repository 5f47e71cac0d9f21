/** Does the work for every entry, in order, at most `count` at a time; the first failure ends the whole. */
export async function severalAtOnce<T>(
  entries: Iterable<T>,
  count: number,
  work: (entry: T) => Promise<void>,
): Promise<void> {
  const waiting = entries[Symbol.iterator]();
  const worker = async () => {
    for (let next = waiting.next(); next.done !== true; next = waiting.next()) await work(next.value);
  };
  await Promise.all(Array.from({ length: count }, worker));
}
