import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HttpError } from '../../kernel/errors.ts';
import { createBearerGuard } from './bearer.ts';

const [guessing, operator] = ['192.0.2.1', '198.51.100.1'];
const carrying = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

test('after five wrong tokens a network waits, with the right one too, and other networks do not', async () => {
  const guard = createBearerGuard('test', () => 'right');
  const statusOf = async (token: string, address: string) => {
    try {
      await guard.require(carrying(token), address);
      return 200;
    } catch (error) {
      assert.ok(error instanceof HttpError);
      return error.status;
    }
  };
  // The right one costs nothing, and no token at all is no guess.
  for (let time = 0; time < 10; time += 1) assert.equal(await statusOf('right', guessing), 200);
  for (let time = 0; time < 10; time += 1) await assert.rejects(guard.require({ headers: {} }, guessing));
  for (let time = 0; time < 3; time += 1) assert.equal(await statusOf('wrong', guessing), 403);
  // Where a token is only asked whether it is one, it is guessed all the same.
  for (let time = 0; time < 2; time += 1) assert.ok(!(await guard.holds(carrying('wrong'), guessing)));
  assert.equal(await statusOf('wrong', guessing), 429);
  assert.equal(await statusOf('right', guessing), 429);
  assert.ok(!(await guard.holds(carrying('right'), guessing)));
  assert.equal(await statusOf('right', operator), 200);
});
