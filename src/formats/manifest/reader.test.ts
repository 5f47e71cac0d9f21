import assert from 'node:assert/strict';
import { test } from 'node:test';
import { oddManifests } from '../../../test/support/odd-manifests.ts';
import { seededRandom } from '../../../test/support/seeded-random.ts';
import { isTxId, type TxId } from '../base64url.ts';
import { maxJsonDepth } from '../json-scanner.ts';
import { type Manifest, resolveManifestPath } from './manifest.ts';
import { ManifestReader, parseManifest, readManifestInSteps } from './reader.ts';

const id = (letter: string) => `${letter.repeat(42)}A`;

/** What the document says when it is read as a value: the rules in the plainest form. */
function byValue(bytes: Buffer): Manifest | undefined {
  let document: unknown;
  try {
    document = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    return undefined;
  }
  const members = membersOf(document);
  if (members === undefined) return undefined;
  const version = members.get('version');
  const index = membersOf(members.get('index'));
  const indexPath = index?.get('path');
  const second = version === '0.2.0';
  const entries = [...(membersOf(members.get('paths')) ?? [])];
  const paths = new Map<string, TxId>();
  // The longest first, so that the shortest of those that differ in slashes has the last word.
  for (const [path, entry] of entries.sort(([one], [other]) => other.length - one.length)) {
    const found = idOf(membersOf(entry)?.get('id'));
    if (found !== undefined) paths.set(path.replace(/\/+$/, ''), found);
  }
  return {
    version: typeof version === 'string' ? version : undefined,
    indexPath: typeof indexPath === 'string' ? indexPath.replace(/\/+$/, '') : undefined,
    indexId: second ? idOf(index?.get('id')) : undefined,
    fallbackId: second ? idOf(membersOf(members.get('fallback'))?.get('id')) : undefined,
    paths,
  };
}
/** What a request leads to by the rules, as the kept manifests write it. */
function leadByRules(manifest: Manifest | undefined, path: string): string | undefined {
  const name = path.replace(/\/+$/, '');
  const { indexId, indexPath, fallbackId, paths } = manifest ?? {};
  const index = indexId ?? (indexPath === undefined ? undefined : paths?.get(indexPath));
  const hit = name === '' ? index : paths?.get(name);
  if (hit !== undefined) return `${hit[0]} ${name === '' ? 'index' : 'path'}`;
  return fallbackId === undefined ? undefined : `${fallbackId[0]} fallback`;
}
function leadOf(manifest: Manifest | undefined, path: string): string | undefined {
  const hit = manifest === undefined ? undefined : resolveManifestPath(manifest, path);
  return hit === undefined ? undefined : `${hit.id[0]} ${hit.by}`;
}
function readInPieces(bytes: Buffer, largest: () => number): Manifest | undefined {
  const reader = new ManifestReader();
  for (let at = 0; at < bytes.length; ) {
    const step = largest();
    // A source may use its buffer again.
    const piece = Buffer.from(bytes.subarray(at, at + step));
    if (!reader.write(piece)) break;
    piece.fill(0x20);
    at += step;
  }
  return reader.end();
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
      ...many(4, () => `"${pick('a', 'b', 'c/d', '\\u0061', 'é', '', '/', '__proto__')}":${entry()}`),
      ...many(3, () => `"${pick('a/', 'a//', '/b', '//b/', 'c/d//')}":${entry()}`),
    ]);
  const member = () =>
    pick(
      () => `"manifest":${pick('"arweave/paths"', '"arweave/paths"', odd())}`,
      () => `"version":${pick('"0.1.0"', '"0.2.0"', odd())}`,
      () => `"index":${pick(object([`"path":"${pick('a', 'b/', '/b', '')}"`]), entry(), odd())}`,
      () => `"fallback":${entry()}`,
      () => `"paths":${pick(paths(), paths(), odd())}`,
      () => `"other":${pick(paths(), odd())}`,
    )();
  let manifests = 0;
  for (let round = 0; round < 10_000; round += 1) {
    let text = `${round % 16 === 1 ? '\ufeff' : ''}${object(many(7, member))}`;
    // Broken in one place: whatever the grammar does not allow must be noticed, and nothing else.
    if (round % 2 === 0) {
      const at = random.below(text.length);
      text = `${text.slice(0, at)}${pick(...'{}[]:,"\\0-+.eEtn \n\u0001')}${text.slice(at + pick(0, 1))}`;
    }
    const bytes = Buffer.from(text);
    const expected = byValue(bytes);
    const read = readInPieces(bytes, () => 1 + random.below(random.below(2) === 0 ? 3 : 200));
    assert.deepEqual(read, expected, bytes.toString());
    assert.deepEqual(parseManifest(bytes), expected, bytes.toString());
    for (const path of ['', '/', 'a', '/a', 'b/', '/b', '//b', 'c/d', 'é', 'x']) {
      assert.equal(leadOf(read, path), leadByRules(expected, path), `${path} of ${bytes.toString()}`);
    }
    if (expected !== undefined && expected.paths.size > 0) manifests += 1;
  }
  assert.ok(manifests > 500, String(manifests));
});

test('odd manifests lead where they are known to lead, in whatever pieces they come', () => {
  for (const { kind, bytes, leads } of oddManifests) {
    const readings = [parseManifest(bytes), readInPieces(bytes, () => 1), readInPieces(bytes, () => 7)];
    for (const manifest of readings) {
      for (const [path, lead] of Object.entries(leads)) {
        assert.equal(leadOf(manifest, path), lead, `${kind}: ${path}`);
      }
    }
  }
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
