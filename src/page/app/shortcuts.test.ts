import assert from 'node:assert/strict';
import { test } from 'node:test';
import { actionFor, type Key, type Surroundings } from './shortcuts.ts';

const pressed = (key: string, more: Partial<Key> = {}): Key => ({
  key,
  ctrlKey: false,
  metaKey: false,
  altKey: false,
  isComposing: false,
  ...more,
});
const plain: Surroundings = { isWriting: false, hasSingleKeys: true, afterG: false };

test('Ctrl-K and ⌘K open the palette, also from a field and with single keys switched off', () => {
  const palette = { kind: 'palette' };
  assert.deepEqual(actionFor(pressed('k', { ctrlKey: true }), plain), palette);
  assert.deepEqual(actionFor(pressed('K', { metaKey: true }), { ...plain, isWriting: true }), palette);
  assert.deepEqual(actionFor(pressed('k', { ctrlKey: true }), { ...plain, hasSingleKeys: false }), palette);
});

test('single keys search, list the keys, and go to sections', () => {
  assert.deepEqual(actionFor(pressed('/'), plain), { kind: 'search' });
  assert.deepEqual(actionFor(pressed('?'), plain), { kind: 'shortcuts' });
  assert.equal(actionFor(pressed('g'), plain), 'prefix');
  assert.deepEqual(actionFor(pressed('w'), { ...plain, afterG: true }), { kind: 'go', letter: 'w' });
  assert.equal(actionFor(pressed('w'), plain), undefined);
});

test('single keys mean nothing in a field, while a character is composed, and when they are switched off', () => {
  for (const key of ['/', '?', 'g']) {
    assert.equal(actionFor(pressed(key), { ...plain, isWriting: true }), undefined);
    assert.equal(actionFor(pressed(key, { isComposing: true }), plain), undefined);
    assert.equal(actionFor(pressed(key), { ...plain, hasSingleKeys: false }), undefined);
  }
  assert.equal(actionFor(pressed('g', { ctrlKey: true }), plain), undefined);
});
