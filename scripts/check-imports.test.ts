import assert from 'node:assert/strict';
import { test } from 'node:test';
import { offences } from './check-imports.ts';

test('a surface that imports another surface is an offence', () => {
  const found = offences('src/upload/intake.ts', "import { x } from '../payment/routes/balance.ts';");
  assert.deepEqual(found, [
    'src/upload/intake.ts: upload may not import payment (src/payment/routes/balance.ts)',
  ]);
});

test('an import upwards is an offence, also a dynamic one and a re-export', () => {
  assert.equal(offences('src/formats/a.ts', "export { x } from '../kernel/log.ts';").length, 1);
  assert.equal(offences('src/kernel/a.ts', "await import('../gateway/index.ts')").length, 1);
  assert.equal(offences('src/credits/a.ts', "import type { X } from '../upload/x.ts';").length, 1);
});

test('nothing but cli imports localnet, and nothing in src imports from outside it', () => {
  assert.equal(offences('src/gateway/a.ts', "import { x } from '../localnet/x.ts';").length, 1);
  assert.equal(offences('src/cli/a.ts', "import { x } from '../localnet/x.ts';").length, 0);
  assert.equal(offences('src/cli/a.ts', "import { x } from '../../bench/bench.ts';").length, 1);
});

test('imports downwards and inside a room are fine', () => {
  assert.deepEqual(offences('src/payment/routes/a.ts', "import { x } from '../../credits/credits.ts';"), []);
  assert.deepEqual(offences('src/payment/routes/a.ts', "import { x } from '../errors.ts';"), []);
});
