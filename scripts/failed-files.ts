/** A reporter for Node's test runner: one line for each file with a failed test. `scripts/test.ts` reads it. */
import type { TestEvent } from 'node:test/reporters';

export default async function* failedFiles(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const told = new Set<string>();
  for await (const { type, data } of events) {
    if (type !== 'test:fail') continue;
    // A test that may fail because it is marked `todo` is no failure.
    if (data.todo !== undefined && data.todo !== false) continue;
    const file = fileOf(data);
    if (file === undefined || told.has(file)) continue;
    told.add(file);
    yield `${file}\n`;
  }
}

/** The file that was run, not the one in which a helper has made the test; of several that were run as one, that alone if it can be told. */
function fileOf(failed: {
  readonly nesting: number;
  readonly file?: string | undefined;
  readonly entryFile?: string | undefined;
  readonly details: { readonly error: { readonly cause?: unknown } };
}): string | undefined {
  const { nesting, file, entryFile = file } = failed;
  if (entryFile?.endsWith('.mjs') !== true) return entryFile;
  if (file?.endsWith('.test.ts') === true) return file;
  const { cause } = failed.details.error;
  const [inStack] = (cause instanceof Error && cause.stack?.match(/(?<=file:\/\/)\/\S+\.test\.ts/)) || [];
  // What fails inside fails the outermost, too.
  return inStack ?? (nesting === 0 ? entryFile : undefined);
}
