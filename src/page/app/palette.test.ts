import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addCommands, allCommands } from './palette.ts';

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
