import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decimal, divide, parseDecimal, scaled, toNumber, toText } from './decimal.ts';

describe('decimals', () => {
  it('reads plain and exponent forms exactly', () => {
    assert.deepEqual(parseDecimal('0.766'), { digits: 766n, scale: 3 });
    assert.deepEqual(parseDecimal('-12'), { digits: -12n, scale: 0 });
    assert.deepEqual(parseDecimal('1e-7'), { digits: 1n, scale: 7 });
    assert.deepEqual(parseDecimal('2.5e+3'), { digits: 2500n, scale: 0 });
  });

  it('refuses what is not a decimal', () => {
    for (const text of ['', '.', '1.', '.5', '0x10', '1_000', ' 1', '+1', 'NaN', '1e999', '9'.repeat(41)]) {
      assert.equal(parseDecimal(text), undefined, text);
    }
    assert.throws(() => decimal('one'));
  });

  it('rounds towards the named side, also below zero', () => {
    assert.equal(divide(7n, 2n, 'down'), 3n);
    assert.equal(divide(7n, 2n, 'up'), 4n);
    assert.equal(divide(7n, 2n, 'half-up'), 4n);
    assert.equal(divide(-7n, 2n, 'down'), -4n);
    assert.equal(divide(-7n, 2n, 'up'), -3n);
    assert.equal(divide(-7n, 2n, 'half-up'), -3n);
    assert.equal(divide(7n, -2n, 'down'), -4n);
    assert.equal(divide(6n, 2n, 'up'), 3n);
    assert.throws(() => divide(1n, 0n, 'up'), /division by zero/);
  });

  it('rounds a product of ratios once, at the end', () => {
    assert.equal(scaled(10n, [decimal('0.3')], [decimal('0.1')], 'down'), 30n);
    assert.equal(scaled(1n, [decimal('0.1'), decimal('0.2')], [], 'up'), 1n);
  });

  it('writes what it read', () => {
    for (const text of ['0.766', '12', '-3.50', '0.0000001']) assert.equal(toText(decimal(text)), text);
    assert.equal(toNumber(decimal('6.25')), 6.25);
  });
});
