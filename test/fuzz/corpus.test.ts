/** Every input that is kept is run again: those that once took a new way, and those that once broke something. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { foundInputs, keptInputs, keptTargets } from './corpus.ts';
import { thrownBy } from './engine.ts';
import { allTargets } from './targets.ts';

const targets = await allTargets();

describe('whatever strangers send', { concurrency: false }, () => {
  const closing: (() => Promise<void>)[] = [];
  after(async () => {
    for (const close of closing) await close();
  });

  for (const { name, target } of targets) {
    it(`${name} holds for every input that is kept`, async () => {
      const close = await target.open?.();
      if (close !== undefined) closing.push(close);
      const seeds = target.seeds().map((seed) => Buffer.from(seed));
      for (const input of [...seeds, ...keptInputs(name), ...foundInputs(name)]) {
        const error = await thrownBy(target, input);
        if (error !== undefined) {
          assert.fail(
            `${error instanceof Error ? error.stack : String(error)}\ninput (base64): ${input.toString('base64')}`,
          );
        }
      }
    });
  }

  it('is kept for targets that there are, each with a name of its own', () => {
    const names = targets.map(({ name }) => name);
    assert.equal(new Set(names).size, names.length);
    assert.deepEqual(
      keptTargets().filter((name) => !names.includes(name)),
      [],
    );
  });
});
