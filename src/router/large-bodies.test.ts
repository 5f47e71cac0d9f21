/** Large bodies share the memory that they are read into: each reader has its own bytes all the same. */
import assert from 'node:assert/strict';
import { get } from 'node:http';
import { test } from 'node:test';
import { seededRandom } from '../../test/support/seeded-random.ts';
import { startRouterBench } from './testing/router-bench.ts';
import { testItem } from './testing/stub-gateway.ts';

const random = seededRandom(2_718);
const items = await Promise.all([0, 1, 2, 3].map(() => testItem(random.bytes(3_000_000), 'video/mp4')));

/** The body, read with a pause at each piece where the reader is a slow one; `undefined` when it was cut off. */
function read(url: string, isSlow: boolean): Promise<Buffer | undefined> {
  return new Promise((resolve, reject) => {
    get(url, (response) => {
      const pieces: Buffer[] = [];
      response.on('data', (piece: Buffer) => {
        pieces.push(piece);
        if (!isSlow) return;
        response.pause();
        setTimeout(() => response.resume(), 2);
      });
      response.on('end', () => resolve(Buffer.concat(pieces)));
      response.on('error', () => resolve(undefined));
    }).on('error', reject);
  });
}

for (const [how, environment] of [
  ['passed through', { VERIFICATION_ENABLED: 'false' }],
  ['proven and not kept', { CONTENT_CACHE_ENABLED: 'false' }],
  ['proven and kept', {}],
] as const) {
  test(`readers at once, quick, slow and leaving, have the bytes of what they asked for: ${how}`, async (t) => {
    const bench = await startRouterBench({ items, environment });
    t.after(() => bench.stop());
    const readers = items.flatMap(({ id, data }) =>
      [true, false, false].map(async (isSlow) => {
        const body = await read(`${bench.router.url}/${id}`, isSlow);
        assert.ok(body?.equals(data));
      }),
    );
    const leaving = items.map(({ id }) => {
      const asked = get(`${bench.router.url}/${id}`, (response) => {
        response.once('data', () => asked.destroy());
      }).on('error', () => {});
      return new Promise((resolve) => asked.on('close', resolve));
    });
    await Promise.all([...readers, ...leaving]);
  });
}
