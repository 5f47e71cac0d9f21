import assert from 'node:assert/strict';
import { it } from 'node:test';
import { forEachEngine } from '../../storage/sql/testing.ts';
import { addAttempt, emptyHour } from './hour.ts';
import { telemetryMigrations } from './migrations.ts';
import { TelemetryStore } from './store.ts';

forEachEngine((_engine, open) => {
  it('adds up what several routers tell of the same hour at the same time', async () => {
    const stores = [
      new TelemetryStore(await open(telemetryMigrations, 'telemetry')),
      new TelemetryStore(await open(telemetryMigrations, 'telemetry')),
    ];
    const hourBucket = '2026-03-04T05:00:00.000Z';
    const told = (gateways: readonly string[]) =>
      gateways.map((gateway) => {
        const figures = emptyHour();
        addAttempt(figures, 'success', 0.25);
        return { gateway, hourBucket, figures };
      });
    await Promise.all(
      Array.from({ length: 10 }, (_, turn) =>
        stores[turn % 2]?.add(told(turn % 3 === 0 ? ['b', 'a'] : ['a', 'b']), [
          {
            gateway: 'a',
            role: 'content',
            outcome: 'success',
            latencyMs: 0.25,
            at: turn,
            weight: 1.5,
            status: 200,
          },
        ]),
      ),
    );
    const kept = await stores[0]?.hours(hourBucket, hourBucket);
    assert.deepEqual(
      kept?.map(({ gateway, figures }) => [
        gateway,
        figures.totalRequests,
        figures.latencySum,
        figures.latency[0],
      ]),
      [
        ['a', 10, 2.5, 10],
        ['b', 10, 2.5, 10],
      ],
    );
  });
});
