import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '../../../test/support/seeded-random.ts';
import { isTxId, type TxId } from '../base64url.ts';
import { maxJsonDepth } from '../json-scanner.ts';
import { normalizeManifestPath } from './manifest.ts';
import { ManifestReader, parseManifest, readManifestInSteps } from './reader.ts';

const id = (letter: string) => `${letter.repeat(42)}A`;

/** What the document says when it is read as a value. */
function byValue(bytes: Buffer) {
  let document: unknown;
  try {
    document = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    return undefined;
  }
  const members = membersOf(document);
  const kind = members?.get('manifest') ?? 'arweave/paths';
  if (members === undefined || (members.has('manifest') && kind !== 'arweave/paths')) return undefined;
  if (members.get('manifest') === null) return undefined;
  const version = members.get('version');
  const index = membersOf(members.get('index'));
  const indexPath = index?.get('path');
  const second = version === '0.2.0';
  const paths = new Map<string, TxId>();
  for (const [path, entry] of membersOf(members.get('paths')) ?? []) {
    const found = idOf(membersOf(entry)?.get('id'));
    const name = normalizeManifestPath(path);
    if (found !== undefined && (name === path || !paths.has(name))) paths.set(name, found);
  }
  return {
    version: typeof version === 'string' ? version : undefined,
    indexPath: typeof indexPath === 'string' ? normalizeManifestPath(indexPath) : undefined,
    indexId: second ? idOf(index?.get('id')) : undefined,
    fallbackId: second ? idOf(membersOf(members.get('fallback'))?.get('id')) : undefined,
    paths,
  };
}
const membersOf = (value: unknown) =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? new Map<string, unknown>(Object.entries(value))
    : undefined;
const idOf = (value: unknown) => (typeof value === 'string' && isTxId(value) ? value : undefined);

test('documents give the same when read piece by piece as when read as a value', () => {
  const random = seededRandom(77);
  const pick = <T>(...choices: readonly T[]): T => choices[random.below(choices.length)] as T;
  const odd = (): string =>
    pick(
      'null',
      'true',
      'false',
      '0',
      '-0.5e+3',
      '1E9',
      '""',
      '"a\\u00e9\\n\\"\\\\"',
      '[]',
      '{}',
      '[1,{"id":2}]',
      '"é✓"',
    );
  const idText = () => pick(`"${id('a')}"`, `"${id('b')}"`, `"${'a'.repeat(43)}"`, odd());
  const space = () => pick('', '', '', ' ', '\n\t', '\r\n');
  const object = (members: readonly string[]) => `${space()}{${members.join(`${space()},`)}}${space()}`;
  const entry = () =>
    pick(object([`"id":${idText()}`]), object([`"x":${odd()}`, `"id" :${idText()}`]), odd());
  const many = <T>(most: number, make: () => T): T[] => Array.from({ length: random.below(most) }, make);
  const paths = () =>
    object([
      ...many(4, () => `"${pick('a', 'b', 'c/d', '\\u0061', 'é', '')}":${entry()}`),
      ...(random.below(3) === 0 ? [`"${pick('a/', '/b', 'c/d//')}":${entry()}`] : []),
    ]);
  const member = () =>
    pick(
      () => `"manifest":${pick('"arweave/paths"', '"arweave/paths"', odd())}`,
      () => `"version":${pick('"0.1.0"', '"0.2.0"', odd())}`,
      () => `"index":${pick(object([`"path":"${pick('a', 'b/')}"`]), entry(), odd())}`,
      () => `"fallback":${entry()}`,
      () => `"paths":${pick(paths(), paths(), odd())}`,
      () => `"other":${pick(paths(), odd())}`,
    )();
  let manifests = 0;
  for (let round = 0; round < 20_000; round += 1) {
    let text = object(many(7, member));
    // Broken in one place: whatever the grammar does not allow must be noticed, and nothing else.
    if (round % 2 === 0) {
      const at = random.below(text.length);
      text = `${text.slice(0, at)}${pick(...'{}[]:,"\\0-+.eEtn \n\u0001')}${text.slice(at + pick(0, 1))}`;
    }
    const bytes = Buffer.from(text);
    const reader = new ManifestReader();
    for (let at = 0; at < bytes.length; ) {
      const step = 1 + random.below(random.below(2) === 0 ? 3 : 200);
      // A source may use its buffer again.
      const piece = Buffer.from(bytes.subarray(at, at + step));
      if (!reader.write(piece)) break;
      piece.fill(0x20);
      at += step;
    }
    const expected = byValue(bytes);
    assert.deepEqual(reader.end(), expected, bytes.toString());
    assert.deepEqual(parseManifest(bytes), expected, bytes.toString());
    if (expected !== undefined && expected.paths.size > 0) manifests += 1;
  }
  assert.ok(manifests > 1_000, String(manifests));
});

test('brackets without end are refused early, and long names are as if absent', () => {
  const reader = new ManifestReader();
  assert.equal(reader.write(Buffer.from('{"x":'.repeat(maxJsonDepth + 1))), false);
  assert.equal(reader.end(), undefined);
  const long = `{"paths":{"${'x'.repeat(100_000)}":{"id":"${id('a')}"},"short":{"id":"${id('b')}"}}}`;
  assert.deepEqual([...(parseManifest(Buffer.from(long))?.paths.keys() ?? [])], ['short']);
});

test('others have their turn while a large manifest is read', async () => {
  const padding = Buffer.alloc(1024 * 1024, ' ');
  const document = Buffer.from(`{"paths":{"a":{"id":"${id('a')}"}}}`);
  let turns = 0;
  let reading = true;
  const count = () => {
    turns += 1;
    if (reading) setImmediate(count);
  };
  setImmediate(count);
  const manifest = await readManifestInSteps([document, ...Array.from({ length: 8 }, () => padding)]);
  reading = false;
  assert.equal(manifest?.paths.get('a'), id('a'));
  assert.ok(turns >= 8, String(turns));
});
