import assert from 'node:assert/strict';
import { afterEach, describe, test } from 'node:test';
import { machineNow, travel, travelled } from './clock.ts';

const dayMs = 86_400_000;

describe('the clock', () => {
  afterEach(() => travel(0));

  test('runs ahead wherever the time is asked for', () => {
    const before = Date.now();
    travel(365 * dayMs);
    assert.equal(travelled(), 365 * dayMs);
    assert.ok(Math.abs(Date.now() - before - 365 * dayMs) < 10_000);
    const today = new Date();
    assert.ok(Math.abs(today.getTime() - Date.now()) < 1_000);
    assert.equal(Date().slice(0, 15), new Date().toString().slice(0, 15));
    assert.ok(Math.abs(machineNow() - before) < 10_000);
  });

  test('leaves everything else of Date alone', () => {
    const old = new Date(0);
    travel(dayMs);
    const made = new Date('2030-01-02T03:04:05.678Z');
    assert.equal(made.toISOString(), '2030-01-02T03:04:05.678Z');
    assert.ok(old instanceof Date && made instanceof Date);
    assert.equal(made.constructor, Date);
    assert.equal(Object.prototype.toString.call(made), '[object Date]');
    assert.equal(Date.UTC(2030, 0, 1), Date.parse('2030-01-01T00:00:00Z'));
    class Own extends Date {}
    assert.ok(new Own() instanceof Own);
    assert.deepEqual(structuredClone(made), made);
    const { now } = Date;
    assert.ok(now() > machineNow(), 'a function that was taken out of it tells the time too');
  });

  test('is the machine’s again', () => {
    const machine = Date;
    travel(dayMs);
    travel(0);
    assert.equal(Date, machine);
    assert.equal(new Date().constructor, machine);
    assert.ok(Math.abs(Date.now() - machineNow()) < 1_000);
  });
});
