import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isActiveType, isJavaScript, withCharset } from './media-type.ts';

test('text, JSON and scripts without a charset are served as UTF-8', () => {
  for (const [tag, served] of [
    ['text/plain', 'text/plain; charset=utf-8'],
    ['text/html', 'text/html; charset=utf-8'],
    ['Text/HTML ;', 'Text/HTML; charset=utf-8'],
    ['text/markdown;variant=GFM', 'text/markdown; variant=GFM; charset=utf-8'],
    ['text/x; a="b c"', 'text/x; a="b c"; charset=utf-8'],
    ['text/javascript', 'text/javascript; charset=utf-8'],
    ['application/javascript', 'application/javascript; charset=utf-8'],
    ['application/json', 'application/json; charset=utf-8'],
    ['application/geo+json', 'application/geo+json; charset=utf-8'],
  ] as const) {
    assert.equal(withCharset(tag), served);
  }
});

test('a type that names a charset, has an encoding of its own or is no media type stays as it is', () => {
  for (const tag of [
    'text/plain; charset=iso-8859-1',
    'text/html;Charset="UTF-8"',
    'image/svg+xml',
    'application/xml',
    'text/xml',
    'application/xhtml+xml',
    'application/x.arweave-manifest+json',
    'image/png',
    'application/octet-stream',
    '',
    'text',
    'text/',
    'text/plain, text/html',
    'text/plain; x=',
    'text/plain; charset',
    'text/pl ain',
    'text/plain\u00a0',
  ]) {
    assert.equal(withCharset(tag), tag);
  }
});

test('what a browser could run is active, and so is what is in doubt', () => {
  for (const active of [
    'text/html',
    'TEXT/HTML; charset=utf-8',
    'application/xhtml+xml',
    'image/svg+xml',
    'application/xml',
    'text/xml',
    'text/xsl',
    'application/atom+xml',
    'video/x+xml',
    'multipart/related',
    'multipart/x-mixed-replace; boundary=x',
    'text/anything',
    '',
    'unknown',
    // Browsers take the last of several.
    'text/plain, text/html',
    'image/png;a="\\",text/html',
    'image/png; a=",text/html;"',
    'text/plain; x=, text/html',
  ]) {
    assert.equal(isActiveType(active), true, active);
  }
  for (const harmless of [
    'text/plain',
    'text/plain; charset=utf-8',
    'text/css',
    'image/png',
    'IMAGE/JPEG',
    'video/mp4; codecs="avc1.4d002a"',
    'font/woff2',
    'application/json',
    'application/x.arweave-manifest+json',
    'application/javascript',
    'application/pdf',
    'application/octet-stream',
  ]) {
    assert.equal(isActiveType(harmless), false, harmless);
  }
});

test('scripts are known by every name they have', () => {
  assert.deepEqual(
    ['text/javascript;charset=utf-8', 'Application/X-JavaScript', 'text/plain'].map(isJavaScript),
    [true, true, false],
  );
});

test('a long type costs no more than its length', () => {
  const long = `text/plain${' ; '.repeat(100_000)}!`;
  assert.equal(withCharset(long), long);
  assert.equal(isActiveType(`${' '.repeat(200_000)}x`), true);
});
