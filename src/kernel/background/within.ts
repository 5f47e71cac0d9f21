/**
 * What `work` answers, or undefined where that takes longer: the work then goes on by itself, and nobody hears how it
 * ends. The wait alone keeps no process alive.
 */
export async function within<T>(ms: number, work: Promise<T>): Promise<T | undefined> {
  const { promise: late, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(resolve, ms, undefined).unref();
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
