import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProgressBar, type ProgressBarOptions } from './progress-bar.ts';

function shown(isTTY: boolean, elsewhere: ProgressBarOptions['elsewhere'] = 'nothing') {
  const written: string[] = [];
  const out = { isTTY, write: (text: string) => written.push(text) } as unknown as NodeJS.WriteStream;
  return { written, bar: new ProgressBar('work', 40, { out, elsewhere }) };
}

test('on a terminal it is one line that is drawn over, and left at the end', () => {
  const { written, bar } = shown(true);
  bar.moveTo(0, '1,000 rows');
  bar.moveTo(20, '9 rows');
  bar.moveTo(20, '9 rows');
  bar.moveTo(99);
  bar.end();
  bar.end();
  assert.deepEqual(written, [
    `\rwork [${'-'.repeat(30)}] 0 %  1,000 rows`,
    `\rwork [${'#'.repeat(15)}${'-'.repeat(15)}] 50 %  9 rows   `,
    `\rwork [${'#'.repeat(30)}] 100 %       `,
    '\n',
  ]);
});

test('elsewhere it is a line at every tenth of the way, or nothing', () => {
  const lines = shown(false, 'lines');
  const nothing = shown(false);
  for (let done = 0; done <= 40; done += 1) {
    lines.bar.moveTo(done, `${done} rows`);
    nothing.bar.moveTo(done);
  }
  lines.bar.end();
  nothing.bar.end();
  assert.equal(lines.written.length, 11);
  assert.deepEqual([lines.written[0], lines.written.at(-1)], ['work 0 %  0 rows\n', 'work 100 %  40 rows\n']);
  assert.deepEqual(nothing.written, []);
});
