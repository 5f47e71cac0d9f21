import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BodySink } from '../gateways/answer-body.ts';
import { collect } from './fetch.ts';

test('a body that is small enough to be collected may not drip for ever either', async () => {
  const sinks: BodySink[] = [];
  const state = { destroyed: false };
  const body = {
    take: (sink: BodySink) => void sinks.push(sink),
    destroy: () => {
      state.destroyed = true;
    },
  };
  const refused = assert.rejects(collect({ body }, 1_000, 20), /too slowly/);
  for (let round = 0; round < 3; round += 1) {
    await new Promise((resolve) => setTimeout(resolve, 15));
    sinks[0]?.piece(Buffer.alloc(1));
  }
  await refused;
  assert.ok(state.destroyed);
});
