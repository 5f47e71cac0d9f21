import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import { createLogger } from '../../kernel/log.ts';
import { type BlockDocument, BlocklistFollower, readBlockDocument } from './follower.ts';

const id = 'A'.repeat(43);
const root = `${'B'.repeat(42)}A`;
const log = createLogger({ level: 'silent', format: 'json', name: 'follower' });
const nothing: BlockDocument = { ids: [], hashes: [], names: [], places: [] };
const something: BlockDocument = {
  ids: [id],
  hashes: [root],
  names: ['bad'],
  places: [{ id, root, start: 10, end: 20 }],
};
const folder = mkdtempSync(join(tmpdir(), 'turnpike-follower-'));
const path = join(folder, 'followed.json');
let server: Server;
let url: string;
/** What the gateway answers. */
let answer: { status: number; text: string; etag: string };
let asked: { url: string | undefined; key: string | undefined; etag: string | undefined }[] = [];
let follower: BlocklistFollower;

before(async () => {
  server = createServer(({ url: target, headers }, response) => {
    asked.push({ url: target, key: headers.authorization, etag: headers['if-none-match'] });
    const isKnown = answer.status === 200 && headers['if-none-match'] === answer.etag;
    response.writeHead(isKnown ? 304 : answer.status, { etag: answer.etag }).end(isKnown ? '' : answer.text);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
after(() => {
  server.close();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(() => {
  rmSync(path, { force: true });
  asked = [];
  tell(something, '"1"');
  follower = make();
});
afterEach(() => follower.stop());

// Asked by the test alone: it never waits for the hour to pass.
const make = () =>
  new BlocklistFollower({
    url,
    key: 'the key',
    path,
    everyMs: 3_600_000,
    surfaces: ['router', 'upload'],
    log,
  });
const tell = (document: BlockDocument, etag: string): void => {
  answer = { status: 200, text: JSON.stringify(document), etag };
};
const whole = { start: 0, end: 100 };

test('obeys what the gateway blocks, and asks with the tag of what it has', async () => {
  await follower.start();
  assert.ok(follower.blocksId(id) && follower.blocksHash(root) && follower.blocksName('shop_bad'));
  assert.equal(follower.blockedPart(root, whole, { start: 15, end: 16 }), id);
  assert.equal(follower.blockedPart(root, whole, { start: 0, end: 10 }), undefined);
  await follower.refresh();
  assert.deepEqual(
    asked.map(({ key, etag }) => [key, etag]),
    [
      ['Bearer the key', undefined],
      ['Bearer the key', '"1"'],
    ],
  );
  assert.equal(asked[0]?.url, '/gw/admin/blocklist?follower=router+upload&everyMs=3600000');
  tell(nothing, '"2"');
  await follower.refresh();
  assert.ok(follower.isEmpty && !follower.hasPlaces && !follower.wantsHashes);
  assert.deepEqual(follower.problems(), []);
});

test('obeys the last list while the gateway is away, also after a restart, and says that it is stale', async () => {
  await follower.start();
  answer = { status: 503, text: 'away', etag: '' };
  for (let time = 0; time < 3; time += 1) await follower.refresh();
  assert.ok(follower.blocksId(id));
  assert.deepEqual(follower.problems(), [`blocklist of ${url}: the gateway answered 503`]);
  await follower.stop();
  follower = make();
  await follower.start();
  assert.ok(follower.blocksId(id) && follower.blocksName('bad') && follower.hasPlaces);
  tell(nothing, '"3"');
  await follower.refresh();
  assert.deepEqual([follower.isEmpty, follower.problems()], [true, []]);
});

test('keeps a list that it cannot read from taking the place of a good one', async () => {
  await follower.start();
  for (const text of [
    '',
    '{',
    '{}',
    '[]',
    JSON.stringify({ ...something, ids: ['short'] }),
    JSON.stringify({ ...something, names: [7] }),
    JSON.stringify({ ...something, places: [{ id, root, start: 20, end: 20 }] }),
    JSON.stringify({ ...something, places: [{ id, root, start: -1, end: 20 }] }),
  ]) {
    assert.equal(readBlockDocument(text), undefined, text);
    answer = { status: 200, text, etag: '"bad"' };
    await follower.refresh();
    assert.ok(follower.blocksId(id), text);
  }
  assert.match(follower.problems()[0] ?? '', /no block list/);
});

test('does not start where there is nothing to obey: no answer and no list of before', async () => {
  answer = { status: 401, text: '"Unauthorized"', etag: '' };
  await assert.rejects(follower.start(), /MODERATION_FOLLOW_URL .*answered 401/);
  assert.equal(existsSync(path), false);
  writeFileSync(path, 'damaged');
  await assert.rejects(follower.start(), /MODERATION_FOLLOW_URL/);
});
