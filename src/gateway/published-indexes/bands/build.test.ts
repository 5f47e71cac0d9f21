/** Bands from the gateway's own index, on every engine it can be on (PostgreSQL where TEST_DATABASE_URL names one). */
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import {
  type AdminGateway,
  type MadeItem,
  makeItem,
  postBundle,
  startAdminGateway,
} from '../../../../test/support/admin-gateway.ts';
import { engines, text, until } from '../../../../test/support/local-gateway.ts';
import { findInCdb64 } from '../../../formats/cdb64/find.ts';
import { headerBytes } from '../../../formats/cdb64/layout.ts';
import { decodeRootEntry } from '../../../formats/cdb64/root-entry.ts';
import { indexFolders } from '../folders.ts';
import { type BuildReport, buildBands, rootIndex } from './build.ts';
import { storedBands } from './stored.ts';

for (const engine of engines)
  describe(`bands of an index on ${engine.name}`, () => {
    let gateway: AdminGateway;
    before(async () => {
      gateway = await startAdminGateway(engine.options);
    });
    after(() => gateway.stop());

    const published = () => indexFolders(gateway.inside.config.DATA_DIR).published;
    const build = (more: { from?: number; to?: number } = {}): Promise<BuildReport> =>
      buildBands({
        sql: gateway.inside.index.sql,
        published: published(),
        bandHeights: 4,
        publisher: 'me',
        ...more,
      });
    const bands = () => storedBands(join(published(), rootIndex.name));

    async function mine(count: number, name: string): Promise<{ root: string; items: MadeItem[] }> {
      const items = await Promise.all(
        Array.from({ length: count }, (_, at) => makeItem({ data: Buffer.from(`${name} ${at}`) })),
      );
      const root = await postBundle(gateway.stack, items);
      for (const { id } of items)
        await until('an item is indexed', async () => {
          const found = await gateway.inside.index.locate(id);
          return found?.placement !== undefined && found.height !== undefined;
        });
      return { root, items };
    }

    /** What the files say of an id. */
    async function lookUp(id: string) {
      const key = Buffer.from(id, 'base64url');
      for (const { folder, manifest } of await bands()) {
        const partition = manifest.partitions.find(({ prefix }) => prefix === key.toString('hex', 0, 1));
        if (partition === undefined) continue;
        const bytes = readFileSync(join(folder, partition.filename));
        const read = (position: number, length: number) => bytes.subarray(position, position + length);
        const value = await findInCdb64(read, bytes.subarray(0, headerBytes), key);
        if (value !== undefined) return decodeRootEntry(value);
      }
      return undefined;
    }

    it('say of every item where it is: root, header, payload, size', async () => {
      const { root, items } = await mine(30, 'first');
      const report = await build();
      assert.equal(report.built.at(-1)?.records, 30);
      let at = 32 + 64 * items.length;
      for (const { id, bytes, header } of items) {
        const found = await lookUp(id);
        assert.deepEqual(
          found?.path.map((one) => one.toString('base64url')),
          [root],
        );
        assert.deepEqual(found?.offsets, {
          item: at,
          data: at + bytes.length - Number(header.data_size),
          size: bytes.length,
        });
        at += bytes.length;
      }
      assert.equal(await lookUp(root), undefined, 'a transaction is its own root');
    });

    it('are written again only when their content changed, and name what they replace', async () => {
      const [before] = (await bands()).slice(-1);
      assert.deepEqual((await build()).built, []);
      const { items } = await mine(5, 'second');
      const { built } = await build();
      assert.equal(built.length, 1);
      const after = (await bands()).find(({ id }) => id === built[0]?.id);
      assert.deepEqual(after?.manifest.metadata.supersedes, [before?.id]);
      assert.ok((await lookUp(items[4]?.id ?? '')) !== undefined);
    });

    it('close when the chain has gone past them; the next one is open', async () => {
      await text(`${gateway.stack.node.url}/mine/8`);
      const { items } = await mine(2, 'later');
      await build();
      const ranges = (await bands()).map(({ manifest }) => manifest.metadata.heightRange);
      assert.ok(
        ranges.some((range) => JSON.stringify(range) === '[0,3]'),
        JSON.stringify(ranges),
      );
      assert.ok((await lookUp(items[0]?.id ?? '')) !== undefined);
      const { built } = await build({ from: 0, to: 3 });
      assert.deepEqual(built, []);
    });

    it('have equal bytes when built again from nothing', async () => {
      const contents = async () =>
        new Map(
          (await bands()).flatMap(({ folder, manifest }) =>
            manifest.partitions.map(({ filename }) => [
              `${JSON.stringify(manifest.metadata.heightRange)} ${filename}`,
              readFileSync(join(folder, filename), 'base64'),
            ]),
          ),
        );
      const first = await contents();
      const elsewhere = join(gateway.stack.dataDir, 'again');
      await buildBands({
        sql: gateway.inside.index.sql,
        published: elsewhere,
        bandHeights: 4,
        publisher: 'me',
      });
      for (const { folder, manifest } of await storedBands(join(elsewhere, rootIndex.name))) {
        for (const { filename } of manifest.partitions) {
          const key = `${JSON.stringify(manifest.metadata.heightRange)} ${filename}`;
          assert.equal(readFileSync(join(folder, filename), 'base64'), first.get(key), key);
        }
      }
    });

    it('leave nothing half-made: what a build that died left is removed by the next', async () => {
      const folder = join(published(), rootIndex.name);
      mkdirSync(join(folder, '.build-1.tmp'));
      writeFileSync(join(folder, '.build-1.tmp', '00.cdb'), 'half');
      const before = await bands();
      await build();
      assert.deepEqual(await bands(), before);
      assert.ok(!readdirSync(folder).includes('.build-1.tmp'));
    });
  });
