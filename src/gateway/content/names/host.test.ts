import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseHost, splitLabel } from './host.ts';

describe('parseHost', () => {
  const roots = ['gateway.example', 'localhost'];
  const kind = (host: string | undefined) => parseHost(host, roots);

  test('root hosts, with port, www, case and a trailing dot', () => {
    for (const host of [
      'gateway.example',
      'GATEWAY.example:443',
      'www.gateway.example',
      'gateway.example.',
    ]) {
      assert.equal(kind(host).kind, 'root', host);
    }
    assert.deepEqual(kind('localhost:4000'), { kind: 'root', rootHost: 'localhost:4000' });
  });

  test('any other host is the gateway without names', () => {
    for (const host of [undefined, '', '127.0.0.1:4000', '[::1]:4000', 'other.example', 'xgateway.example']) {
      assert.deepEqual(kind(host), { kind: 'root', rootHost: undefined }, host);
    }
  });

  test('what stands in place of a port is a port, or nobody is meant', () => {
    for (const port of [':80@evil.example', ':evil', ':1/', ':999999', ':-1']) {
      for (const host of ['gateway.example', 'name.gateway.example']) {
        assert.deepEqual(kind(host + port), { kind: 'nobody' }, host + port);
      }
    }
    assert.deepEqual(kind('gateway.example:'), { kind: 'root', rootHost: 'gateway.example' });
  });

  test('one label below a root host is a name or a sandbox', () => {
    assert.deepEqual(kind('ardrive.localhost:4000'), {
      kind: 'name',
      label: 'ardrive',
      rootHost: 'localhost:4000',
    });
    assert.equal(kind('under_name.gateway.example').kind, 'name');
    assert.equal(kind(`${'a'.repeat(52)}.gateway.example`).kind, 'sandbox');
  });

  test('deeper hosts and impossible labels are nobody', () => {
    for (const label of ['a.b', 'a b', '..', `${'1'.repeat(52)}`, 'a%00', 'x'.repeat(64)]) {
      assert.equal(kind(`${label}.gateway.example`).kind, 'nobody', label);
    }
  });
});

test('an undername is what stands before the last underscore', () => {
  assert.deepEqual(splitLabel('name'), { name: 'name', undername: '@' });
  assert.deepEqual(splitLabel('docs_name'), { name: 'name', undername: 'docs' });
  assert.deepEqual(splitLabel('a_b_name'), { name: 'name', undername: 'a_b' });
});
