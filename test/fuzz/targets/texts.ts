/** Encodings and JSON of strangers. */
import assert from 'node:assert/strict';
import { decodeBase58, encodeBase58, tryDecodeBase58 } from '../../../src/formats/base58.ts';
import { encodeBase64url, isBlockHash, isTxId, tryDecodeBase64url } from '../../../src/formats/base64url.ts';
import { canonicalJson } from '../../../src/formats/canonical-json.ts';
import { contentTypeOfFile } from '../../../src/formats/content-types.ts';
import { FormatError } from '../../../src/formats/format-error.ts';
import { tryParseJson } from '../../../src/formats/json.ts';
import { JsonScanner, maxJsonDepth } from '../../../src/formats/json-scanner.ts';
import { buildManifest, type Manifest, resolveManifestPath } from '../../../src/formats/manifest/manifest.ts';
import { ManifestReader, parseManifest, readManifestInSteps } from '../../../src/formats/manifest/reader.ts';
import { isActiveType, isJavaScript, withCharset } from '../../../src/formats/media-type.ts';
import { isSandboxLabel, sandboxLabel } from '../../../src/formats/sandbox-label.ts';
import { optionsOf, readOrRefused, type Target } from '../target.ts';

const id = 'AnYvLJTWcG9lr2Ll5MwYWZR2o5uTE39WbpYB0zCxwKM';

/** The value that the scanner's events describe: the last of equal keys wins, as with `JSON.parse`. */
function scanned(document: Buffer, pieceBytes: number): { readonly value: unknown } | undefined {
  const stack: { container: unknown[] | Map<string | undefined, unknown>; key: string | undefined }[] = [];
  let value: unknown;
  const put = (member: unknown) => {
    const top = stack.at(-1);
    if (top === undefined) value = member;
    else if (Array.isArray(top.container)) top.container.push(member);
    else top.container.set(top.key, member);
  };
  const scanner = new JsonScanner({
    wants: () => true,
    key: (text) => {
      stack.at(-1)!.key = text;
    },
    scalar: put,
    open: (kind) => {
      const container = kind === 'array' ? [] : new Map<string | undefined, unknown>();
      put(container);
      stack.push({ container, key: undefined });
    },
    close: () => stack.pop(),
  });
  for (let at = 0; at < document.length; at += pieceBytes) {
    if (!scanner.write(document.subarray(at, at + pieceBytes))) return undefined;
  }
  return scanner.end() ? { value } : undefined;
}

/** What the scanner tells of a value: containers, and of scalars only texts. */
function asScanned(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(asScanned);
  if (typeof value === 'object' && value !== null) {
    return new Map(Object.entries(value).map(([key, member]) => [key, asScanned(member)]));
  }
  return typeof value === 'string' ? value : undefined;
}

function depthOf(text: string): number {
  let [depth, most] = [0, 0];
  for (const letter of text) {
    if (letter === '[' || letter === '{') most = Math.max(most, ++depth);
    else if (letter === ']' || letter === '}') depth -= 1;
  }
  return most;
}

/** Keys that look like numbers come first in objects, and the prototype has a key of its own. */
const isOrdered = (text: string): boolean =>
  !/"(?:[^"\\]|\\.)*(?:[0-9]|\\|__proto__)(?:[^"\\]|\\.)*"\s*:/.test(text);

export const targets: readonly Target[] = [
  {
    name: 'base64url',
    seeds: () => [id, 'AA', 'AAA', '-_-_'],
    run(input) {
      const text = input.toString('latin1');
      const bytes = tryDecodeBase64url(text);
      if (bytes !== undefined) {
        assert.equal(encodeBase64url(bytes), text);
        assert.ok(/^[A-Za-z0-9_-]*$/.test(text) && text.length % 4 !== 1);
      }
      assert.equal(isTxId(text), bytes?.length === 32);
      assert.equal(isBlockHash(text), bytes?.length === 48);
      assert.deepEqual(tryDecodeBase64url(encodeBase64url(input)), input);
      if (isTxId(text)) assert.ok(isSandboxLabel(sandboxLabel(text)));
    },
  },
  {
    name: 'base58',
    longest: 2_100,
    seeds: () => ['11111111111111111111111111111111', 'So11111111111111111111111111111111111111112', ''],
    run(input) {
      const text = input.toString('latin1');
      const bytes = tryDecodeBase58(text);
      if (bytes !== undefined) assert.equal(encodeBase58(bytes), text);
      assert.deepEqual(
        readOrRefused([FormatError], () => decodeBase58(text)),
        bytes,
      );
      if (input.length <= 1_232) assert.deepEqual(tryDecodeBase58(encodeBase58(input)), input);
    },
  },
  {
    name: 'json-scanner',
    seeds: () => [
      '0{"a":[1,-2.5e3,true,false,null,"\\u00e9\\n"],"b":{}}',
      '1[[],{"":""}]',
      '2"text"',
      '3-0.1E+2',
    ],
    run(input) {
      const { bits, rest } = optionsOf(input);
      const text = rest.toString('utf8');
      const got = scanned(rest, 1 + (bits % 32));
      const isUtf8 = Buffer.from(text).equals(rest);
      // A mark at the beginning is passed over, which JSON.parse does not do.
      const expected = tryParseJson(text.replace(/^\ufeff/, ''));
      if (!isUtf8 || depthOf(text) > maxJsonDepth) return;
      assert.equal(got !== undefined, expected !== undefined, 'both take the document, or neither');
      if (got !== undefined && isOrdered(text)) assert.deepEqual(got.value, asScanned(expected));
    },
  },
  {
    name: 'canonical-json',
    seeds: () => ['{"b":1,"a":[1.5,"é",null,true]}', '"\\ud800"', '[1e21,1e-7,-0]'],
    run(input) {
      const value = tryParseJson(input.toString('utf8'));
      if (value === undefined) return;
      const text = readOrRefused([FormatError], () => canonicalJson(value));
      if (text === undefined) return;
      assert.equal(canonicalJson(JSON.parse(text)), text);
      // -0 becomes 0, as RFC 8785 says.
      assert.deepEqual(JSON.parse(text), JSON.parse(JSON.stringify(value)));
    },
  },
  {
    name: 'manifest',
    seeds: () => [
      `0${buildManifest({ paths: new Map([['index.html', id]]), indexPath: 'index.html', fallbackId: id })}`,
      `9{"manifest":"arweave/paths","version":"0.1.0","index":{"path":"a/"},"paths":{"a":{"id":"${id}"},"a//":{"id":"${id}"}}}`,
    ],
    async run(input) {
      const { bits, rest } = optionsOf(input);
      const whole = parseManifest(rest);
      const pieceBytes = 1 + (bits % 64);
      const pieces: Buffer[] = [];
      for (let at = 0; at < rest.length; at += pieceBytes) pieces.push(rest.subarray(at, at + pieceBytes));
      const reader = new ManifestReader();
      const inPieces = pieces.every((piece) => reader.write(piece)) ? reader.end() : undefined;
      assert.deepEqual(inPieces, whole);
      assert.deepEqual(await readManifestInSteps([rest]), whole);
      if (whole === undefined) return;
      isSound(whole);
    },
  },
  {
    name: 'media-type',
    seeds: () => ['text/html; charset=utf-8', 'application/json', 'image/svg+xml;a="b c"', 'x.html'],
    run(input) {
      const text = input.toString('utf8');
      const served = withCharset(text);
      assert.equal(withCharset(served), served);
      assert.equal(isActiveType(served), isActiveType(text));
      if (isJavaScript(text)) assert.equal(isActiveType(text), false);
      assert.ok(contentTypeOfFile(text).includes('/'));
    },
  },
];

function isSound(manifest: Manifest): void {
  for (const path of ['', '/', 'index.html', 'index.html/', 'missing', ...manifest.paths.keys()]) {
    const hit = resolveManifestPath(manifest, path);
    if (hit !== undefined) assert.ok(isTxId(hit.id));
    if (manifest.paths.has(path) && path !== '') assert.equal(hit?.by, 'path');
  }
}
