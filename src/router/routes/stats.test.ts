import assert from 'node:assert/strict';
import { test } from 'node:test';
import { periodOf } from './stats.ts';

test('a time without a zone is in UTC, wherever the router runs', () => {
  const before = process.env.TZ;
  process.env.TZ = 'America/New_York';
  try {
    for (const [text, moment] of [
      ['2026-03-04', '2026-03-04T00:00:00.000Z'],
      ['2026-03-04T05:06', '2026-03-04T05:06:00.000Z'],
      ['2026-03-04T05:06:07.5', '2026-03-04T05:06:07.500Z'],
      ['2026-03-04T05:06:07Z', '2026-03-04T05:06:07.000Z'],
      ['2026-03-04T05:06:07+02:00', '2026-03-04T03:06:07.000Z'],
    ] as const) {
      const { period } = periodOf({ start: '2020-01-01', end: text });
      assert.equal(period.end.toISOString(), moment, text);
    }
  } finally {
    if (before === undefined) delete process.env.TZ;
    else process.env.TZ = before;
  }
});
