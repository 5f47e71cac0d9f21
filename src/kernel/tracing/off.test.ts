import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { testServer } from '../testing.ts';
import { startTracing, traced } from './tracing.ts';

test('the SDK is loaded when tracing starts, not before', async (t) => {
  const loaded = () =>
    Object.keys(createRequire(import.meta.url).cache).some((path) =>
      path.includes('/@opentelemetry/sdk-trace/'),
    );
  const server = testServer();
  await server.listen();
  t.after(() => server.close());
  traced(
    'work',
    () => ({}),
    () => undefined,
  );
  assert.equal(loaded(), false);
  const counter = { value: 0, add() {} };
  const tracing = await startTracing({
    ...{ endpoint: 'http://127.0.0.1:1', serviceName: 'x', serviceVersion: '1', ratio: 0 },
    log: { warn() {} },
    counters: { exported: counter, dropped: counter },
  });
  await tracing.stop();
  assert.equal(loaded(), true);
});
