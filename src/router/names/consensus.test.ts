import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Ballot, decide, type Vote } from './consensus.ts';

const id = (name: string, ttlSeconds?: number): Vote => ({ kind: 'id', id: name, ttlSeconds });
const absent: Vote = { kind: 'absent' };
const silent: Vote = { kind: 'silent', reason: 'down' };
const ballots = (...votes: Vote[]): Ballot[] => votes.map((vote, index) => ({ gateway: `g${index}`, vote }));
const rules = { threshold: 2, unanimous: false };

test('it is decided as soon as enough agree, with the smallest time to live', () => {
  assert.equal(decide(ballots(id('a')), 2, rules), undefined);
  const verdict = decide(ballots(id('a', 60), id('a', 30)), 1, rules);
  assert.equal(verdict?.kind, 'agreed');
  assert.deepEqual(verdict?.kind === 'agreed' && [verdict.id, verdict.ttlSeconds, verdict.by], [
    'a',
    30,
    ['g0', 'g1'],
  ]);
});

test('a laggard, a liar or one that is down decides nothing', () => {
  for (const odd of [id('b'), absent, silent]) {
    assert.equal(decide(ballots(odd, id('a'), id('a')), 0, rules)?.kind, 'agreed');
  }
});

test('absence needs as many voices as an id', () => {
  assert.equal(decide(ballots(absent), 2, rules), undefined);
  assert.equal(decide(ballots(absent, absent), 1, rules)?.kind, 'absent');
  assert.equal(decide(ballots(absent, silent, silent), 0, rules)?.kind, 'unavailable');
});

test('disagreement is a conflict only when everybody has answered', () => {
  assert.equal(decide(ballots(id('a'), id('b')), 1, rules), undefined);
  assert.equal(decide(ballots(id('a'), id('b'), id('c')), 0, rules)?.kind, 'conflict');
  assert.equal(decide(ballots(id('a'), absent, silent), 0, rules)?.kind, 'conflict');
  assert.equal(decide(ballots(id('a'), silent, silent), 0, rules)?.kind, 'unavailable');
});

test('where unanimity is asked for, one voice is enough to refuse', () => {
  const strict = { threshold: 2, unanimous: true };
  assert.equal(decide(ballots(id('a'), id('a')), 1, strict), undefined);
  assert.equal(decide(ballots(id('a'), id('a'), id('b')), 0, strict)?.kind, 'conflict');
  assert.equal(decide(ballots(id('a'), id('a'), silent), 0, strict)?.kind, 'agreed');
});
