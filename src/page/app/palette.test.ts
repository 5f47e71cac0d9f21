import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addCommands, allCommands, matchCommands } from './palette.ts';

test('commands are those of every source, asked anew, until it is taken away', () => {
  let label = 'Mine a block';
  const remove = addCommands(() => [{ id: 'mine', label }]);
  addCommands(() => [{ id: 'home', label: 'Home', href: '/' }]);
  assert.deepEqual(
    allCommands().map(({ id }) => id),
    ['mine', 'home'],
  );
  label = 'Mine two blocks';
  assert.equal(allCommands()[0]?.label, 'Mine two blocks');
  remove();
  assert.deepEqual(
    allCommands().map(({ id }) => id),
    ['home'],
  );
});

test('commands match by every word of the query, the beginning of the label first', () => {
  const commands = [
    { id: 'a', label: 'Buy credits with a card' },
    { id: 'b', label: 'Card deliveries', hint: 'webhooks of the local network' },
    { id: 'c', label: 'Mine a block', hint: 'Local network' },
  ];
  const ids = (query: string) => matchCommands(commands, query).map(({ id }) => id);
  assert.deepEqual(ids('card'), ['b', 'a']);
  assert.deepEqual(ids('local block'), ['c']);
  assert.deepEqual(ids('LOCAL'), ['b', 'c']);
  assert.deepEqual(ids('buy nothing'), []);
  assert.deepEqual(ids('  '), ['a', 'b', 'c']);
});

test('no more commands are shown than people look through', () => {
  const many = Array.from({ length: 1000 }, (_, at) => ({ id: String(at), label: `Block ${at}` }));
  assert.equal(matchCommands(many, 'block').length, 50);
});
