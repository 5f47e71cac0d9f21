import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readSessionCookie, writeSessionCookie } from './cookies.ts';
import { Sessions } from './sessions.ts';

const minute = 60_000;
const key = new Map([['gateway', { text: 'secret' }]] as const);

test('a session ends half an hour after it was last used, and twelve hours after it was opened', () => {
  const clock = { now: 0 };
  const sessions = new Sessions(() => clock.now);
  const id = sessions.open(key);
  clock.now += 29 * minute;
  assert.deepEqual(sessions.get(id, true)?.keys.get('gateway'), { text: 'secret' });
  clock.now += 29 * minute;
  assert.equal(sessions.get(id)?.leftMs, minute);
  clock.now += minute;
  assert.equal(sessions.get(id), undefined);

  const busy = sessions.open(key);
  for (let passed = 0; passed < 12 * 60; passed += 20) {
    assert.ok(sessions.get(busy, true), `after ${passed} minutes`);
    clock.now += 20 * minute;
  }
  assert.equal(sessions.get(busy, true), undefined);
});

test('ids are long, each its own, and nothing but the id finds a session', () => {
  const sessions = new Sessions();
  const ids = new Set(Array.from({ length: 50 }, () => sessions.open(key)));
  assert.equal(ids.size, 50);
  for (const id of ids) assert.match(id, /^[A-Za-z0-9_-]{43}$/);
  assert.equal(sessions.get('A'.repeat(43)), undefined);
  assert.equal(sessions.get(undefined), undefined);
  const [first = ''] = ids;
  sessions.end(first);
  assert.equal(sessions.get(first), undefined);
});

test('the number of sessions is bounded: the one not used for longest makes room', () => {
  const sessions = new Sessions();
  const first = sessions.open(key);
  const second = sessions.open(key);
  for (let more = 0; more < 98; more += 1) sessions.open(key);
  assert.ok(sessions.get(first, true));
  sessions.open(key);
  assert.equal(sessions.get(second), undefined);
  assert.ok(sessions.get(first));
});

test('a cookie is for this console, for no script and for no other site', () => {
  const id = 'a'.repeat(43);
  const cookie = writeSessionCookie(id, 4003, false);
  assert.equal(cookie, `turnpike-console-4003=${id}; Path=/api; HttpOnly; SameSite=Strict`);
  assert.match(writeSessionCookie(id, 4003, true), /; Secure$/);
  const sent = { headers: { cookie: `other=1; turnpike-console-4004=${'b'.repeat(43)}; ${cookie}` } };
  assert.equal(readSessionCookie(sent, 4003), id);
  assert.equal(readSessionCookie(sent, 4004), 'b'.repeat(43));
  assert.equal(readSessionCookie(sent, 4005), undefined);
  assert.equal(readSessionCookie({ headers: { cookie: 'turnpike-console-1=short' } }, 1), undefined);
});
