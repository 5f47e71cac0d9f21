import assert from 'node:assert/strict';
import { test } from 'node:test';
import { prefersType } from './accept.ts';

const prefersHtml = (accept: string | undefined) => prefersType(accept, 'text/html', 'application/json');

test('a type is preferred where its quality is higher, by the most specific range', () => {
  for (const accept of [
    'text/html',
    'TEXT/HTML;charset=utf-8',
    'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
    'application/json;q=0.5, text/html',
    'text/*, application/json;q=0.9',
    '*/*, application/json;q=0',
  ]) {
    assert.equal(prefersHtml(accept), true, accept);
  }
});

test('a type is not preferred where both are alike, the other is, or nothing is said', () => {
  for (const accept of [
    undefined,
    '',
    '*/*',
    'application/json',
    'application/json, text/html;q=0.5',
    'application/json, text/html',
    'text/html;q=0',
    'image/png',
    'text/html;q=0.5, */*',
    ';;;,,,q=',
  ]) {
    assert.equal(prefersHtml(accept), false, accept);
  }
});
