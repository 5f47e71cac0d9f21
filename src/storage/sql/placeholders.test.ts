import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { countPlaceholders, numbered } from './placeholders.ts';
import { prepare } from './postgres/database.ts';

describe('placeholders', () => {
  it('are numbered in order', () => {
    assert.equal(numbered('SELECT ? + ?, ?::text'), 'SELECT $1 + $2, $3::text');
  });

  it('are not looked for in quotes and comments', () => {
    assert.equal(
      numbered(`SELECT '?', 'it''s ?', "a?""?" -- ?\n, ? /* ? */ WHERE a = ?`),
      `SELECT '?', 'it''s ?', "a?""?" -- ?\n, $1 /* ? */ WHERE a = $2`,
    );
    assert.equal(countPlaceholders(`SELECT '?', ? -- ?\n, ?`), 2);
  });

  it('give the same statement the same name, within what a connection may keep', () => {
    const { name } = prepare('SELECT ?');
    assert.equal(prepare('SELECT ?').name, name);
    assert.notEqual(prepare('SELECT ?, 1').name, name);
    for (let index = 0; index < 3_000; index += 1) prepare(`SELECT ${index}`);
    assert.equal(prepare('SELECT 2999').name, undefined);
    assert.equal(prepare('SELECT ?').name, name);
  });
});
