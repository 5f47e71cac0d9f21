import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  clampText,
  formatAgo,
  formatBytes,
  formatCoin,
  formatCount,
  formatCredits,
  formatDecimal,
  formatDollars,
  formatDuration,
  formatTime,
  safeHref,
  shortId,
  WINC_PER_CREDIT,
} from './format.ts';

test('an id keeps head and tail, a short one stays whole', () => {
  assert.equal(shortId('kqBNqJd1mmNk9rKZ3hYFJ8gHfTqYl0uL0kS7pWn2xE4'), 'kqBNqJd1…Wn2xE4');
  assert.equal(shortId('12345678901234567'), '12345678901234567');
});

test('bytes are told in units of 1024, and never as 1024 of one unit', () => {
  assert.equal(formatBytes(0), '0 bytes');
  assert.equal(formatBytes(1), '1 byte');
  assert.equal(formatBytes(1023), '1023 bytes');
  assert.equal(formatBytes(1536), '1.5 KiB');
  assert.equal(formatBytes(1024 * 1024 - 1), '1 MiB');
  assert.equal(formatBytes(250n * 1024n ** 3n), '250 GiB');
  assert.equal(formatBytes(2n ** 70n), '1,024 EiB');
  assert.equal(formatBytes(Number.NaN), '–');
});

test('credits are cut and never rounded up, and small amounts are told in winc', () => {
  assert.equal(formatCredits(0n), '0 credits');
  assert.equal(formatCredits(WINC_PER_CREDIT), '1 credit');
  assert.equal(formatCredits(12_300_000_000n), '0.0123 credits');
  assert.equal(formatCredits(1_999_999_999_999n), '1.9999 credits');
  assert.equal(formatCredits(1_234_567n * WINC_PER_CREDIT), '1,234,567 credits');
  assert.equal(formatCredits(999_999n), '999,999 winc');
  assert.equal(formatCredits(1_234_567n), '0.000001234 credits');
  assert.equal(formatCredits(-2_500_000_000_000n), '-2.5 credits');
});

test('coins have their own decimals', () => {
  assert.equal(formatCoin(1_500_000n, 6, 'USDC'), '1.5 USDC');
  assert.equal(formatCoin(7n, 0, 'blocks'), '7 blocks');
  assert.equal(formatCoin(10n ** 30n, 12, 'AR'), '1,000,000,000,000,000,000 AR');
  assert.equal(formatDecimal(5n, 12), '0.000000000005');
});

test('dollars have cents, and less than a cent is not nothing', () => {
  assert.equal(formatDollars(1234.5), '$1,234.50');
  assert.equal(formatDollars(0), '$0.00');
  assert.equal(formatDollars(0.001234), '$0.0012');
  assert.equal(formatDollars(Number.POSITIVE_INFINITY), '–');
});

test('times are told as long ago as they are, old ones as a date', () => {
  const now = Date.UTC(2026, 10, 16, 12);
  assert.equal(formatAgo(now - 500, now), 'just now');
  assert.equal(formatAgo(now - 59_999, now), '59 seconds ago');
  assert.equal(formatAgo(now - 3 * 60_000, now), '3 minutes ago');
  assert.equal(formatAgo(now - 86_400_000, now), 'yesterday');
  assert.equal(formatAgo(now + 2 * 3_600_000, now), 'in 2 hours');
  assert.equal(formatAgo(now - 40 * 86_400_000, now), formatTime(now - 40 * 86_400_000));
  assert.equal(formatAgo(Number.NaN, now), '–');
  assert.equal(formatTime(Number.NaN), '–');
});

test('durations have their two largest units', () => {
  assert.equal(formatDuration(0.4), '0.4 ms');
  assert.equal(formatDuration(850), '850 ms');
  assert.equal(formatDuration(12_340), '12.3 s');
  assert.equal(formatDuration(250_000), '4 min 10 s');
  assert.equal(formatDuration(3 * 3_600_000), '3 h');
  assert.equal(formatDuration(2 * 86_400_000 + 4 * 3_600_000 + 59_000), '2 d 4 h');
  assert.equal(formatDuration(-1000), '-1 s');
});

test('only addresses of the web are links', () => {
  assert.equal(safeHref('https://example.org/a b'), 'https://example.org/a%20b');
  assert.equal(safeHref('http://127.0.0.1:4000/x'), 'http://127.0.0.1:4000/x');
  for (const text of [
    'javascript:alert(1)',
    ' java\nscript:alert(1)',
    'data:text/html,x',
    '//evil',
    '',
    'blob:x',
  ]) {
    assert.equal(safeHref(text), undefined, JSON.stringify(text));
  }
});

test('text of strangers is bounded, without half a character', () => {
  assert.equal(clampText('short'), 'short');
  assert.equal(clampText('abcdef', 3), 'abc…');
  assert.equal(clampText('ab😀cd', 3), 'ab…');
  assert.equal(clampText('x'.repeat(10_000)).length, 201);
});

test('what turns text around or hides in it is shown', () => {
  assert.equal(clampText('\u202Egnp.exe'), '\uFFFDgnp.exe');
  assert.equal(clampText('pay\u200Bpal\u0000'), 'pay\uFFFDpal\uFFFD');
  assert.equal(clampText('two\nlines\tkept'), 'two\nlines\tkept');
});

test('counts are grouped', () => {
  assert.equal(formatCount(1_234_567), '1,234,567');
  assert.equal(formatCount(10n ** 20n), '100,000,000,000,000,000,000');
});
