import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Box, layouts } from './road-layout.ts';

const overlaps = (a: Box, b: Box): boolean =>
  a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;

for (const [name, { width, height, boxes }] of Object.entries(layouts)) {
  test(`no part is outside the ${name} picture or on another part`, () => {
    const all = Object.entries(boxes);
    assert.equal(all.length, 11);
    for (const [id, box] of all) {
      assert.ok(box.x >= 0 && box.x + box.width <= width, `${id} is beside it`);
      assert.ok(box.y >= 0 && box.y + box.height <= height, `${id} is above or below it`);
      for (const [other, otherBox] of all) {
        assert.ok(id === other || !overlaps(box, otherBox), `${id} is on ${other}`);
      }
    }
  });
}
