import assert from 'node:assert/strict';
import { test } from 'node:test';
import { circles, importsOf, offences, unusedExports } from './check-imports.ts';

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

test('inside a room a folder imports from lower floors, not from its neighbours or from above', () => {
  const floors = { gateway: [['errors.ts', 'filters'], ['chain'], ['content', 'import']] };
  const of = (path: string, target: string) => offences(path, `import { x } from '${target}';`, floors);
  assert.deepEqual(of('src/gateway/content/a.ts', '../chain/b.ts'), []);
  assert.deepEqual(of('src/gateway/content/a.ts', './sources/b.ts'), []);
  assert.deepEqual(of('src/gateway/surface.ts', './content/b.ts'), []);
  assert.deepEqual(of('src/gateway/chain/a.ts', '../content/b.ts'), [
    'src/gateway/chain/a.ts: src/gateway/content/b.ts is not on a lower floor',
  ]);
  assert.equal(of('src/gateway/content/a.ts', '../import/b.ts').length, 1);
  assert.equal(of('src/gateway/content/a.ts', '../surface.ts').length, 1);
  assert.deepEqual(of('src/gateway/chain/testing.ts', '../content/b.ts'), []);
});

test('files that import each other are a circle, also by way of others and for a type alone', () => {
  const imports = (files: Record<string, string>) =>
    circles(new Map(Object.entries(files).map(([file, text]) => [file, importsOf(file, text)])));
  const from = (target: string) => `import type { X } from './${target}';`;
  assert.deepEqual(imports({ 'src/a.ts': from('b.ts'), 'src/b.ts': from('a.ts') }), [
    ['src/a.ts', 'src/b.ts'],
  ]);
  assert.deepEqual(
    imports({
      'src/a.ts': from('b.ts'),
      'src/b.ts': `${from('c.ts')}\n${from('d.ts')}`,
      'src/c.ts': from('a.ts'),
      'src/d.ts': '',
    }),
    [['src/a.ts', 'src/b.ts', 'src/c.ts']],
  );
  assert.deepEqual(imports({ 'src/a.ts': from('b.ts'), 'src/b.ts': from('c.ts'), 'src/c.ts': '' }), []);
});

test('an export that no file uses is told, one that a test or its own file uses is not', () => {
  const texts = new Map([
    [
      'src/kernel/a.ts',
      'export const used = 1;\nexport const own = 2;\nexport function dead() { return own; }',
    ],
    ['src/kernel/a.test.ts', "import { used } from './a.ts';"],
    ['test/support/b.ts', 'export const elsewhere = 1;'],
  ]);
  assert.deepEqual(unusedExports(texts), ['src/kernel/a.ts: nobody uses dead']);
});
