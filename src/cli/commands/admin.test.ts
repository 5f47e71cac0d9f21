/** `turnpike admin`, run as a person runs it, against a gateway of this process. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import {
  type AdminGateway,
  adminKey,
  makeItem,
  postBundle,
  startAdminGateway,
} from '../../../test/support/admin-gateway.ts';
import { text, until } from '../../../test/support/local-gateway.ts';
import { startCommands } from '../../../test/support/run-command.ts';

let gateway: AdminGateway;
const commands = startCommands();
before(async () => {
  gateway = await startAdminGateway();
});
after(async () => {
  commands.stop();
  await gateway.stop();
});

async function run(
  args: string[],
  key = adminKey,
): Promise<{ code: number | null; out: string; err: string }> {
  const environment = { ADMIN_API_KEY: key };
  const { code, out, error } = await commands.run(['admin', ...args, '--url', gateway.url], environment);
  return { code, out, err: error };
}

test('blocks and lifts, exports and prunes, and says what the gateway refuses', async () => {
  const item = await makeItem({ data: Buffer.from('from the command line') });
  const bundle = await postBundle(gateway.stack, [item]);
  await text(`${gateway.stack.node.url}/mine/60`);
  await until('it is stable', async () => (await gateway.inside.index.locate(item.id))?.stable);
  await until('what is exported is stable', async () => gateway.inside.index.stableHeight >= 40);

  assert.equal(
    (await run(['block', item.id, '--source', 'court'])).out,
    'Content blocked\nobeyed by: gateway\n',
  );
  assert.equal((await gateway.get(`/raw/${item.id}`)).status, 451);
  assert.match((await run(['blocks'])).out, /"source": "court"/);
  assert.equal((await run(['unblock', item.id])).out, 'Content unblocked\nobeyed by: gateway\n');
  assert.equal((await gateway.get(`/raw/${item.id}`)).status, 200);
  assert.match((await run(['bundle-status', bundle])).out, /"dataItemCount": 1/);

  const exported = await run(['export', 'cli', '--from', '0', '--to', '40', '--partition-size', '20']);
  assert.equal(exported.code, 0, exported.err);
  assert.equal(JSON.parse(exported.out).status, 'completed');
  assert.ok(existsSync(join(gateway.stack.dataDir, 'parquet', 'cli', 'blocks', 'data', 'height=0-19')));

  assert.deepEqual(JSON.parse(exported.out).exportedToHeight, 40);
  const above = await run(['export', 'cli', '--from', '900000', '--to', '900001', '--partition-size', '20']);
  assert.deepEqual([above.code, JSON.parse(above.out).exportedToHeight], [0, null]);
  assert.match(
    above.err,
    /^Nothing is exported: heights are stable up to [0-9]+, and the export starts at 900000$/m,
  );
  const overlap = await run(['export', 'cli', '--from', '0', '--to', '40']);
  assert.deepEqual([overlap.code, /^409: The export does not fit in - /.test(overlap.err)], [1, true]);
  const idle = await run(['export-cancel']);
  assert.deepEqual([idle.code, idle.err], [1, '409: No export is in progress\n']);

  for (const time of ['2100-01-01', String(Date.now())]) {
    const future = await run(['prune', time]);
    assert.equal(future.code, 1);
    assert.match(future.err, /^400: Invalid indexedAtThreshold/);
  }
  const soon = String(Math.floor(Date.now() / 1000) + 3);
  const preview = JSON.parse((await run(['prune', soon, '--dry-run'])).out);
  assert.deepEqual([preview.wouldPruneCount, preview.contentStaysReadable], [1, true]);
  assert.equal((await gateway.inside.index.locate(item.id))?.isPruned, undefined);
  assert.equal((await run(['prune', soon])).out, 'pruned 1 data items\n');
  assert.equal((await gateway.inside.index.locate(item.id))?.isPruned, true);
  assert.equal((await gateway.get(`/raw/${item.id}`)).status, 200);

  const audit = await run(['audit', '--limit', '20', '--router', 'http://127.0.0.1:9']);
  assert.equal(audit.code, 0);
  const [pruned = '', ...earlier] = audit.out.split('\n');
  assert.match(pruned, / gateway {2}key [0-9a-f]{8} {2}prune-stable-data-items {2}\{.*\} {2}answered 200$/);
  const exporting = / gateway {2}key [0-9a-f]{8} {2}export-parquet {2}\{.*"endHeight":40.*\} {2}answered 2/;
  assert.ok(earlier.some((line) => exporting.test(line)));
  assert.match(audit.err, /router/, 'who did not answer is named');
  for (const bad of [
    ['--limit', '0'],
    ['--limit', '1001'],
    ['--since', 'yesterday'],
  ]) {
    assert.equal((await run(['audit', ...bad])).code, 64, String(bad));
  }

  const refused = await run(['queue-tx', 'short']);
  assert.deepEqual([refused.code, refused.err], [1, "400: Must provide 'id'\n"]);
  const wrong = await run(['debug'], 'another key');
  assert.deepEqual([wrong.code, wrong.err], [1, '401: Unauthorized\n']);
  assert.equal((await run(['export', '../out', '--from', '0', '--to', '1'])).code, 1);
  assert.equal((await run(['dance'])).code, 64);
});
