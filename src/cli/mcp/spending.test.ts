import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { Spending, SpendingRefused } from './spending.ts';

const limits = {
  winc: { call: 50n, session: 80n, day: 100n },
  usdc: { call: 0n, session: 0n, day: 0n },
};

function inFolder(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-spending-'));
  const opened: Spending[] = [];
  t.after(async () => {
    for (const spending of opened) await spending.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const clock = { now: Date.parse('2030-01-01T12:00:00Z') };
  const open = async (wallet = 'a wallet') => {
    const spending = await Spending.open(join(folder, 'spending.db'), wallet, limits, () => clock.now);
    opened.push(spending);
    return spending;
  };
  return { open, clock };
}

test('a session gets back what a call did not cost, and keeps counted what nobody knows of', async (t) => {
  const { open } = inFolder(t);
  const session = (await open()).session();
  await assert.rejects(session.reserve('winc', 51n), /limit for one call leaves 50/);
  await (await session.reserve('winc', 50n)).settle(10n);
  await (await session.reserve('winc', 50n)).release();
  await session.reserve('winc', 50n);
  assert.deepEqual(await session.left('winc'), { call: 50n, session: 20n, day: 40n });
  await assert.rejects(session.reserve('winc', 21n), /limit for one session leaves 20/);
  await assert.rejects(session.reserve('usdc', 1n), SpendingRefused);
});

test('a day counts over sessions and starts, for each wallet by itself, and begins anew at midnight', async (t) => {
  const { open, clock } = inFolder(t);
  const first = await open();
  await first.session().reserve('winc', 50n);
  // As after a crash: nobody told what became of it.
  await first.close();
  const second = (await open()).session();
  await second.reserve('winc', 50n);
  const third = (await open()).session();
  await assert.rejects(third.reserve('winc', 1n), /limit for one day leaves 0/);
  assert.deepEqual((await third.left('winc')).session, 80n, 'what was refused is not counted');
  await (await open('another wallet')).session().reserve('winc', 50n);
  clock.now += 12 * 3_600_000;
  const late = await third.reserve('winc', 50n);
  // What is given back is given back to its own day.
  clock.now += 24 * 3_600_000;
  await late.release();
  assert.deepEqual((await third.left('winc')).day, 100n);
});

test('calls beside each other never spend more than a limit together', async (t) => {
  const { open } = inFolder(t);
  const sessions = [(await open()).session(), (await open()).session(), (await open()).session()];
  const asked = sessions.flatMap((session) => [1, 2, 3, 4].map(() => session.reserve('winc', 20n)));
  const answers = await Promise.allSettled(asked);
  assert.equal(answers.filter(({ status }) => status === 'fulfilled').length, 5);
  assert.deepEqual((await (await open()).session().left('winc')).day, 0n);
});
