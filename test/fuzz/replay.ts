/** Runs every input that is kept again: those that once took a new way, and those that once broke something. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { foundInputs, keptInputs } from './corpus.ts';
import { thrownBy } from './engine.ts';
import type { NamedTarget } from './targets.ts';

export function replay(targets: readonly NamedTarget[]): void {
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
          if (error === undefined) continue;
          const told = error instanceof Error ? error.stack : String(error);
          assert.fail(`${told}\ninput (base64): ${input.toString('base64')}`);
        }
      });
    }
  });
}
