import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isTxId } from '../../formats/base64url.ts';
import { isSandboxLabel, sandboxLabel } from '../../formats/sandbox-label.ts';
import { HttpError } from '../../kernel/errors.ts';
import { RateLimit } from '../../kernel/http/rate-limit.ts';
import { parseHost } from './host.ts';
import { parseTarget, type TargetRules } from './target.ts';

const rules = { baseDomain: 'router.example', allowUnknownHosts: false };
const open: TargetRules = { rootContent: undefined, restrictToRoot: false, chainReads: true, isolate: true };
const id = '4jBV3ofWh41KhuTs2pFvj-KBZWUkbrbCYlJH0vLA6LM';
const label = '4iyflxuh22dy2sug4twnvelpr7riczlferxlnqtckjd5f4wa5czq';

test('a sandbox label is base32 of the id', () => {
  assert.ok(isTxId(id));
  assert.equal(sandboxLabel(id), label);
  assert.ok(isSandboxLabel(label));
  const zeros = 'A'.repeat(43);
  assert.ok(isTxId(zeros));
  assert.equal(sandboxLabel(zeros), 'a'.repeat(52));
});

test('hosts are told apart', () => {
  assert.equal(parseHost('router.example:3000', rules).kind, 'root');
  assert.equal(parseHost('ROUTER.example.', rules).kind, 'root');
  assert.deepEqual(parseHost('Name.router.example:80', rules), {
    kind: 'name',
    label: 'name',
    rootAuthority: 'router.example:80',
  });
  assert.equal(parseHost(`${label}.router.example`, rules).kind, 'sandbox');
  assert.equal(parseHost('127.0.0.1:3000', rules).kind, 'root');
  assert.equal(parseHost('[::1]:3000', rules).kind, 'root');
  for (const host of [
    undefined,
    '',
    'a.b.router.example',
    'evilrouter.example',
    'a b',
    'a/b',
    'x@router.example',
    `${'a'.repeat(60)}.router.example`,
  ]) {
    assert.equal(parseHost(host, rules).kind, 'unknown', host);
  }
});

test('paths mean content, chain reads or the router itself', () => {
  const root = parseHost('127.0.0.1', rules);
  assert.deepEqual(parseTarget(root, `/${id}/a%20b`, open), {
    kind: 'id',
    id,
    path: 'a b',
    slash: true,
    byId: true,
    origin: 'shared',
  });
  assert.equal(parseTarget(root, `/raw/${id}`, open).kind, 'raw');
  assert.deepEqual(parseTarget(root, `/tx/${id}/status`, open), { kind: 'chain', id });
  for (const path of ['/tx/pending', '/current_block', '/block/current', '/price/10/target']) {
    assert.deepEqual(parseTarget(root, path, open), { kind: 'chain', id: undefined }, path);
  }
  assert.equal(parseTarget(root, '/', open).kind, 'self');
  const site = { ...open, rootContent: 'home' };
  assert.deepEqual(parseTarget(root, '/info', site), { kind: 'name', label: 'home', path: 'info' });
  const only = { ...site, restrictToRoot: true };
  assert.equal(parseTarget(root, `/${id}`, only).kind, 'name', 'the id is a path of the site');
  const refused = (work: () => unknown, status: number) =>
    assert.throws(work, (error) => error instanceof HttpError && error.status === status);
  refused(() => parseTarget(parseHost('n.router.example', rules), '/', only), 404);
  refused(() => parseTarget(root, `/${id.slice(0, 42)}N`, open), 400);
  refused(() => parseTarget(root, `/${id}/%E0%A4%A`, open), 400);
  refused(() => parseTarget(root, '/nowhere', open), 404);
});

test('an origin is content’s own on hosts below the root and for the operator’s choice, else everybody’s', () => {
  const origin = (host: string, path: string, given: Partial<TargetRules> = {}, baseDomain?: string) => {
    const parsed = parseHost(host, { ...rules, baseDomain: baseDomain ?? rules.baseDomain });
    const target = parseTarget(parsed, path, { ...open, ...given });
    return 'origin' in target ? target.origin : target.kind;
  };
  for (const isolate of [true, false]) {
    const shared = isolate ? 'shared' : 'own';
    assert.equal(origin('127.0.0.1', `/${id}`, { isolate }), shared);
    assert.equal(origin('[::1]:3000', `/${id}/`, { isolate }), shared);
    for (const host of ['127.0.0.1', 'router.example', 'www.router.example', 'localhost']) {
      assert.equal(origin(host, `/raw/${id}`, { isolate }), shared);
    }
    assert.equal(origin(`${label}.router.example`, `/${id}/a`, { isolate }), 'own');
    assert.equal(origin('router.example', '/a', { isolate, rootContent: id }), 'own');
    assert.equal(origin('router.example', `/raw/${id}`, { isolate, rootContent: id }), shared);
    assert.equal(
      origin('localhost:3000', `/${id}`, { isolate }, 'localhost'),
      isolate ? 'shared-without-pages' : 'own',
    );
    assert.equal(origin('elsewhere.example', `/${id}`, { isolate }, 'localhost'), shared);
  }
});

test('on localhost pages go to a host of their own, and programs are answered in place', () => {
  const local = parseHost('localhost:3000', { ...rules, baseDomain: 'localhost' });
  assert.deepEqual(
    parseTarget(local, `/${id}`, open, () => true),
    {
      kind: 'sandbox-redirect',
      authority: 'localhost:3000',
      id,
      pagesOnly: true,
    },
  );
  assert.equal(parseTarget(local, `/${id}`, open, () => false).kind, 'id');
  assert.equal(parseTarget(local, `/${id}`, { ...open, isolate: false }, () => true).kind, 'id');
  assert.equal(parseTarget(local, `/raw/${id}`, open, () => true).kind, 'raw');
});

test('a bucket refills steadily, and an IPv6 reader is a /64', () => {
  let now = 0;
  const limit = new RateLimit(2, 1_000, () => now);
  assert.deepEqual(
    [1, 2, 3].map(() => limit.take('1.2.3.4').allowed),
    [true, true, false],
  );
  now = 500;
  assert.equal(limit.take('1.2.3.4').allowed, true);
  assert.equal(limit.take('1.2.3.4').allowed, false);
  assert.equal(limit.take('::ffff:1.2.3.4').allowed, false, 'the same reader');
  const inOne = ['2001:db8::1', '2001:db8:0:0:2::', '2001:DB8::ffff'];
  assert.deepEqual(
    inOne.map((address) => limit.take(address).allowed),
    [true, true, false],
  );
  assert.equal(limit.take('2001:db8:0:1::1').allowed, true);
});
