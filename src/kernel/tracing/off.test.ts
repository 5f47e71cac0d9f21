import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';

test('the SDK is loaded when tracing starts, not before', () => {
  // In a process of its own: other tests load the SDK.
  const program = `
import { createRequire } from 'node:module';
import { testServer } from '${new URL('../testing.ts', import.meta.url).href}';
import { startTracing, traced } from '${new URL('tracing.ts', import.meta.url).href}';
const loaded = () =>
  Object.keys(createRequire('${import.meta.url}').cache).some((path) => path.includes('/@opentelemetry/sdk-trace/'));
const server = testServer();
await server.listen();
traced('work', () => ({}), () => undefined);
console.log(loaded());
const counter = { value: 0, add() {} };
const tracing = await startTracing({
  endpoint: 'http://127.0.0.1:1', serviceName: 'x', serviceVersion: '1', ratio: 0,
  log: { warn() {} },
  counters: { exported: counter, dropped: counter },
});
console.log(loaded());
await tracing.stop();
await server.close();
`;
  const said = execFileSync(process.execPath, ['--input-type=module', '--eval', program], {
    encoding: 'utf8',
  });
  assert.equal(said, 'false\ntrue\n');
});
