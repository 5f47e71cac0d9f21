/** A reporter for Node's test runner: one line for each file with a failed test. `scripts/test.ts` reads it. */
import type { TestEvent } from 'node:test/reporters';

export default async function* failedFiles(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const told = new Set<string>();
  for await (const { type, data } of events) {
    if (type !== 'test:fail' || data.file === undefined || told.has(data.file)) continue;
    // A test that may fail because it is marked `todo` is no failure.
    if (data.todo !== undefined && data.todo !== false) continue;
    told.add(data.file);
    yield `${data.file}\n`;
  }
}
