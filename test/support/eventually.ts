/** Waits for what happens in the background by asking for it, so long that only a fault makes it fail. */

/** Set where a test that fails is what is looked for (`scripts/mutants`). */
const longestMs = Number(process.env.EVENTUALLY_MS ?? 90_000);

type Answer<T> = T | undefined | null | false;

/** The first answer that is there; fails loudly after a minute and a half, or as long as is said. */
export async function eventually<T>(
  what: string,
  ask: () => Answer<T> | Promise<Answer<T>>,
  timeoutMs = longestMs,
): Promise<T> {
  const began = performance.now();
  for (;;) {
    const answer = await ask();
    if (answer !== undefined && answer !== null && answer !== false) return answer;
    const waitedMs = performance.now() - began;
    if (waitedMs > timeoutMs) throw new Error(`waited in vain: ${what}`);
    // What takes longer is asked for less often: to ask takes from what is waited for.
    await new Promise((resolve) => setTimeout(resolve, Math.min(10 + waitedMs / 10, 50)));
  }
}
