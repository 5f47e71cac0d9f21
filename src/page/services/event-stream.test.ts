import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EventParser } from './event-stream.ts';

test('events are read however they are cut', () => {
  const text = 'event: state\ndata: {"height":1}\n\n: a comment\n\ndata: one\ndata: two\n\n';
  for (let size = 1; size <= text.length; size += 1) {
    const parser = new EventParser();
    const events = [];
    for (let at = 0; at < text.length; at += size) events.push(...parser.push(text.slice(at, at + size)));
    assert.deepEqual(events, [
      { event: 'state', data: '{"height":1}' },
      { event: 'message', data: 'one\ntwo' },
    ]);
  }
});

test('lines may end as in Windows', () => {
  const parser = new EventParser();
  const events = [...parser.push('event: log\r'), ...parser.push('\ndata: x\r\n\r\n')];
  assert.deepEqual(events, [{ event: 'log', data: 'x' }]);
});

test('an event without end is refused', () => {
  const parser = new EventParser();
  const piece = 'x'.repeat(1024 * 1024);
  assert.throws(() => {
    for (let count = 0; count < 10; count += 1) parser.push(piece);
  }, /too long/);
});
