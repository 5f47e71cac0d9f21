/** What `find` finds out, for whoever asks: found out once, and anew only where that failed. */
export function kept<T>(find: () => Promise<T>): () => Promise<T> {
  let known: Promise<T> | undefined;
  return () => {
    known ??= find().catch((error: unknown) => {
      known = undefined;
      throw error;
    });
    return known;
  };
}
