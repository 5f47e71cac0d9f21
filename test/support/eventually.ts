/** Waits for what happens in the background by asking for it, so long that only a fault makes it fail. */
import assert from 'node:assert/strict';

const patienceMs = 30_000;

/** The first answer that is not false or undefined. */
export async function eventually<T>(what: string, ask: () => Promise<T | false | undefined>): Promise<T> {
  const end = performance.now() + patienceMs;
  for (;;) {
    const answer = await ask();
    if (answer !== false && answer !== undefined) return answer;
    if (performance.now() > end) assert.fail(`it never came true: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
