/** The clock of the machine against what others say. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../../test/support/eventually.ts';
import { createClockWatch } from './clock-watch.ts';
import { Metrics } from './metrics.ts';
import { silentLog } from './testing.ts';

test('is off when most of those that answer say so, and right again when they do', async (t) => {
  let others: (number | undefined | 'away')[] = [];
  const metrics = new Metrics();
  const watch = createClockWatch({
    clocks: [0, 1, 2].map((index) => async () => {
      const ahead = others[index];
      if (ahead === 'away') throw new Error('away');
      return ahead === undefined ? undefined : 1_000_000 - ahead;
    }),
    ...{ metrics, log: silentLog, everyMs: 1, now: () => 1_000_000 },
  });
  for (const job of watch.jobs ?? []) job.start();
  t.after(() => Promise.all(watch.jobs?.map((job) => job.stop()) ?? []));
  const problems = async () => (await watch.problems?.()) ?? [];
  const told = async (clocks: typeof others, expected: RegExp | undefined) => {
    others = clocks;
    await eventually(String(clocks), async () => {
      const [problem] = await problems();
      return expected === undefined ? problem === undefined : expected.test(problem ?? '');
    });
  };
  await told([7_200_000, 7_200_000, 'away'], /^Clock is off by 7200 seconds\.$/);
  assert.match(await metrics.text(), /^clock_off 1$/m);
  await told([0, 500, -7_200_000], undefined);
  await told([-61_000, -61_000, 0], /^Clock is off by -61 seconds\.$/);
  // Who cannot ask anybody keeps what was known.
  others = ['away', undefined, 'away'];
  assert.equal((await problems()).length, 1);
  await told([0, 0, 0], undefined);
  assert.match(await metrics.text(), /^clock_offset_seconds 0$/m);
});
