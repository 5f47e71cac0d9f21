/**
 * docs/operations.md as an operator follows it: every command in its shell blocks is run as it stands there, against a
 * stack that was started as a person starts one, and what it should have done is looked at.
 */
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { DuckDBInstance } from '@duckdb/node-api';
import { bundleTags, encodeBundleHeader } from '../../src/formats/ans104/bundle-header.ts';
import { makeItem } from '../support/admin-gateway.ts';
import { makeTransaction, send, text, until } from '../support/local-gateway.ts';
import { program } from '../support/program.ts';
import { runCommand } from '../support/run-command.ts';
import { type RunningStack, startStack } from '../support/stack.ts';

const root = resolve(import.meta.dirname, '../..');
const guide = readFileSync(join(root, 'docs/operations.md'), 'utf8');
const contents = Array.from({ length: 40 }, (_, at) => Buffer.from(`content ${at}`));

let stack: RunningStack;
let folder: string;
let environment: Record<string, string>;
let ids: string[];
let announced: string;

before(async () => {
  stack = await startStack({ environment: { LOCAL_ARWEAVE_BLOCK_INTERVAL_MS: '0' } });
  const node = stack.urls.arweave ?? '';
  const gateway = stack.urls.gateway ?? '';
  const items = await Promise.all(contents.map((data) => makeItem({ data })));
  ids = items.map(({ id }) => id);
  const made = await makeTransaction(
    node,
    Buffer.concat([
      encodeBundleHeader(
        items.map(({ id, bytes }) => ({ id: Buffer.from(id, 'base64url'), size: bytes.length })),
      ),
      ...items.map(({ bytes }) => bytes),
    ]),
    [...bundleTags],
  );
  await made.post();
  await text(`${node}/mine/80`);
  const later = await makeItem({ data: Buffer.from('announced') });
  announced = later.id;
  folder = mkdtempSync(join(tmpdir(), 'turnpike-guide-'));
  writeFileSync(join(folder, 'headers.json'), JSON.stringify([later.header]));
  // What an installed package puts there.
  const command = `#!/bin/sh\nexec "${process.execPath}" "${program}" "$@"\n`;
  writeFileSync(join(folder, 'turnpike'), command, { mode: 0o755 });
  environment = {
    PATH: `${folder}${delimiter}${process.env.PATH}`,
    DATA_DIR: stack.dataDir,
    GATEWAY_PORT: new URL(gateway).port,
    GATEWAY: gateway,
    PORT: new URL(stack.urls.router ?? '').port,
    KEY: readFileSync(join(stack.dataDir, 'keys', 'admin-api-key'), 'utf8').trim(),
    TX: made.transaction.id.toString('base64url'),
    ID: ids[0] ?? '',
    HASH: hash('sha256', contents[1] ?? '', 'hex'),
    FROM: '0',
    TO: '20',
  };
  await until('the items are served', async () => (await status(`/raw/${ids[39]}`)) === 200);
  await until('they are stable', async () => {
    const answer = await fetch(`${gateway}/gw/admin/debug`, {
      headers: { authorization: `Bearer ${environment.KEY}` },
    });
    const { db } = (await answer.json()) as {
      db: { heights: { maxStable: number; maxStableDataItem: number } };
    };
    return db.heights.maxStable >= Number(environment.TO) && db.heights.maxStableDataItem > 0;
  });
});
after(async () => {
  await stack.stop();
  rmSync(folder, { recursive: true, force: true });
});

const status = async (path: string) => (await fetch(`${stack.urls.gateway}${path}`)).status;

async function run(line: string): Promise<{ code: number | null; out: string; err: string }> {
  const { code, out, error } = await runCommand('sh', ['-uc', line], {
    cwd: folder,
    // Later than anything was indexed, and not in the future for more than clocks may differ.
    env: { ...environment, BEFORE: String(Math.floor(Date.now() / 1000) + 2) },
  });
  return { code, out, err: error };
}

const found = async (id: string) =>
  JSON.parse(await send(`${stack.urls.gateway}/graphql`, { query: `{ transaction(id: "${id}") { id } }` }))
    .data.transaction !== null;

const obeyed = 'obeyed by: gateway, upload, router\n';

/** How each command of the guide shows that it did what the guide says. */
const effects: [RegExp, (out: string, err: string) => Promise<void> | void][] = [
  [/debug"?$/, (out) => assert.equal(JSON.parse(out).db.counts.dataItems, 40)],
  [/healthcheck"$/, (out) => assert.equal(JSON.parse(out).status, 'ok')],
  [/doctor gateway$/, (out) => assert.match(out, /^ok {5}services +the gateway at \S+ is well$/m)],
  [
    /admin why/,
    (out) => assert.match(out, /^Gateway: It is indexed: a data item of bundle \S+ at height \d+\.$/m),
  ],
  [/admin queue-tx/, (out) => assert.equal(out, 'TX queued\n')],
  [/admin queue-bundle/, (out) => assert.equal(out, 'TX queued\n')],
  [/admin bundle-status/, (out) => assert.equal(JSON.parse(out).dataItemCount, 40)],
  [
    /admin queue-data-item/,
    async (out) => {
      assert.equal(out, 'Data item(s) queued\n');
      assert.ok(await found(announced));
    },
  ],
  [
    /admin block "\$ID"/,
    async () =>
      assert.deepEqual([await status(`/raw/${ids[0]}`), await status(`/raw/${ids[1]}`)], [451, 200]),
  ],
  [/curl .*raw/, (out) => assert.equal(out, '451\n')],
  [/admin block "\$HASH"/, async () => assert.equal(await status(`/raw/${ids[1]}`), 451)],
  [/admin block-name/, (out) => assert.equal(out, `Name blocked\n${obeyed}`)],
  [
    /admin blocks/,
    (out) => {
      const { ids: blocked, hashes, names } = JSON.parse(out);
      assert.deepEqual(
        [blocked[0].what, blocked[0].source, blocked[0].notes],
        [ids[0], 'court order', 'case 7'],
      );
      assert.deepEqual([blocked.length, hashes.length, names[0].what], [1, 1, 'example']);
    },
  ],
  [/admin unblock "\$ID"/, async () => assert.equal(await status(`/raw/${ids[0]}`), 200)],
  [/admin unblock "\$HASH"/, async () => assert.equal(await status(`/raw/${ids[1]}`), 200)],
  [/admin unblock-name/, (out) => assert.equal(out, `Name unblocked\n${obeyed}`)],
  [
    /admin audit/,
    (out, err) => {
      assert.match(out, new RegExp(`block  id ${ids[0]}  \\(court order: case 7\\)  done`));
      assert.match(out, /unblock {2}name example/);
      assert.equal(err, '');
    },
  ],
  [
    /admin export june .*0$/,
    (out, err) => {
      const { status, rows } = JSON.parse(out);
      assert.deepEqual([status, rows.blocks, rows.transactions], ['completed', 21, 41]);
      assert.match(err, /^export 100 % {2}[0-9,]+ rows$/m, 'plain lines where there is no terminal');
    },
  ],
  [/admin export-status/, (out) => assert.equal(JSON.parse(out).status, 'completed')],
  [/admin export june .*--resume$/, (out) => assert.equal(JSON.parse(out).rows.transactions, 0)],
  [
    /admin prune "\$BEFORE".*--dry-run$/,
    async (out) => {
      assert.equal(JSON.parse(out).wouldPruneCount, 40);
      assert.equal(await found(ids[5] ?? ''), true);
    },
  ],
  [
    /admin prune "\$BEFORE".*"\$TO"$/,
    async (out, err) => {
      assert.equal(out, 'pruned 40 data items\n');
      assert.match(err, /^prune 100 % {2}40 removed$/m);
      assert.equal(await found(ids[5] ?? ''), false);
      assert.equal(await status(`/raw/${ids[5]}`), 200);
      assert.equal(await found(announced), true);
    },
  ],
  [/admin prune-status/, (out) => assert.equal(JSON.parse(out).pruned, 40)],
];

test('every command of the operator’s guide does what the guide says', async (t) => {
  const blocks = [...guide.matchAll(/^```(sh|sql)\n(.*?)^```$/gms)];
  assert.ok(blocks.length >= 6);
  const used = new Set<RegExp>();
  for (const [, language, block = ''] of blocks) {
    if (language === 'sql') {
      await t.test(block.trim(), async () => assert.deepEqual(await duck(block), [['40']]));
      continue;
    }
    for (const line of block.trim().split('\n')) {
      const command = line.replace(/\s+#.*$/, '');
      await t.test(command, async () => {
        const matching = effects.filter(([form]) => form.test(command));
        assert.equal(matching.length, 1, 'the test knows what the command should do');
        const { code, out, err } = await run(line);
        assert.equal(code, 0, err);
        for (const [form, check] of matching) {
          used.add(form);
          await check(out, err);
        }
      });
    }
  }
  assert.equal(used.size, effects.length, 'the guide has every command that the test knows');
});

/** As the guide says: in the folder of the exports. */
async function duck(statement: string): Promise<unknown[]> {
  const connection = await (await DuckDBInstance.create(':memory:')).connect();
  const below = join(stack.dataDir, 'parquet');
  const rows = (
    await connection.runAndReadAll(statement.replaceAll("'june/", `'${below}/june/`))
  ).getRowsJson();
  connection.closeSync();
  return rows;
}
