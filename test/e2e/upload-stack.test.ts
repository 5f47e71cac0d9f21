/** Uploads on a whole stack: prices agree, what is uploaded can be read and found at once, and still when it is mined. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { request } from 'undici';
import { parseItem } from '../../src/formats/ans104/item.ts';
import { isRecord } from '../../src/formats/json.ts';
import type { AuditLine } from '../../src/kernel/audit-log.ts';
import { itemOwner } from '../../src/wallets/data-items/owner.ts';
import { signItem, solanaSigner } from '../../src/wallets/data-items/signer.ts';
import { ed25519TestKey } from '../../src/wallets/testing/keys.ts';
import { eventually } from '../support/eventually.ts';
import { program } from '../support/program.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { type RunningStack, startStack } from '../support/stack.ts';

const root = resolve(import.meta.dirname, '../..');
const signer = solanaSigner(ed25519TestKey('stack'));
const { address } = itemOwner(4, signer.owner).wallet;
const random = seededRandom(31);

describe('uploads on a whole stack', () => {
  let stack: RunningStack;
  before(async () => {
    stack = await startStack({
      environment: {
        ALLOW_LISTED_ADDRESSES: address,
        // Nothing gets to the chain before the test has it mined.
        LOCAL_ARWEAVE_BLOCK_INTERVAL_MS: '0',
        BUNDLE_MAX_WAIT_MS: '0',
        BUNDLE_POLL_MS: '50',
      },
    });
  });
  after(() => stack.stop());

  const text = async (url: string) => (await request(url)).body.text();
  const json = async (url: string): Promise<Record<string, unknown>> => JSON.parse(await text(url));
  const found = async (id: string): Promise<boolean> => {
    const query = `query { transactions(ids: ["${id}"]) { edges { node { id tags { name value } } } } }`;
    const answer = await request(`${stack.urls.gateway}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query }),
    });
    return (await answer.body.text()).includes(`"id":"${id}"`);
  };
  it('costs the same here and at the payment service, to the last winc', async () => {
    for (const bytes of [0, 1, 1_024, 262_144, 2 ** 30, 123_456_789_012]) {
      const here = await text(`${stack.urls.upload}/v1/price/arweave/${bytes}`);
      const there = await json(`${stack.urls.payment}/v1/price/bytes/${bytes}`);
      assert.equal(here, there.winc, `${bytes} bytes`);
    }
    const gibibyte = await json(`${stack.urls.payment}/v1/price/bytes/${2 ** 30}`);
    assert.equal(await text(`${stack.urls.upload}/v1/price/solana`), gibibyte.winc);
  });

  it('names no address that nothing is taken at', async () => {
    const { addresses } = await json(`${stack.urls.upload}/v1/info`);
    assert.ok(isRecord(addresses));
    assert.deepEqual(Object.keys(addresses).sort(), ['arweave', 'solana']);
    assert.ok(Object.values(addresses).every((one) => typeof one === 'string' && one !== ''));
  });

  it('serves and finds an item at once, and the same when it is permanent', async () => {
    const data = random.bytes(50_000);
    const item = await signItem({ data, tags: [{ name: 'Content-Type', value: 'image/png' }] }, signer);
    const answer = await request(`${stack.urls.upload}/v1/tx/solana`, { method: 'POST', body: item });
    assert.equal(answer.statusCode, 200);
    const { id } = JSON.parse(await answer.body.text());
    const check = async () => {
      const read = await request(`${stack.urls.gateway}/${id}`);
      assert.equal(read.statusCode, 200);
      assert.equal(read.headers['content-type'], 'image/png');
      assert.ok(Buffer.from(await read.body.arrayBuffer()).equals(data));
    };
    await check();
    await eventually('the index to have it', () => found(id));
    const status = async () => (await json(`${stack.urls.upload}/v1/tx/${id}/status`)).info;
    assert.notEqual(await status(), 'permanent', 'all of this was before the chain had it');
    await eventually('it to be permanent', async () => {
      await text(`${stack.urls.arweave}/mine`);
      return (await status()) === 'permanent';
    });
    await check();
    assert.ok(await found(id));
  });

  it('is read through the router the moment there is a receipt, also where it was asked for before', async () => {
    const seen: string[] = [];
    const ask = async (method: 'GET' | 'HEAD', id: string) => {
      const read = await request(`${stack.urls.router}/${id}`, { method });
      return { status: read.statusCode, body: Buffer.from(await read.body.arrayBuffer()) };
    };
    for (let round = 0; round < 6; round += 1) {
      const data = random.bytes(round % 2 === 0 ? 2_000 : 300_000);
      const item = await signItem({ data, tags: [{ name: 'Content-Type', value: 'image/png' }] }, signer);
      const parsed = parseItem(item);
      assert.ok(typeof parsed !== 'string');
      const { id } = parsed.header;
      if (round >= 3) assert.equal((await ask('GET', id)).status, 404);
      const answer = await request(`${stack.urls.upload}/v1/tx/solana`, { method: 'POST', body: item });
      assert.equal(answer.statusCode, 200);
      await answer.body.dump();
      const method = round % 3 === 0 ? 'HEAD' : 'GET';
      const first = await ask(method, id);
      const { status, body } = await ask('GET', id);
      seen.push(`${method} ${first.status}, GET ${status}`);
      assert.ok(status !== 200 || body.equals(data));
    }
    assert.deepEqual([...new Set(seen)].sort(), ['GET 200, GET 200', 'HEAD 200, GET 200']);
  });

  const admin = async (...args: string[]) => {
    const command = [program, 'admin', ...args, '--url', stack.urls.gateway ?? ''];
    const env = { ...process.env, DATA_DIR: stack.dataDir };
    const { stdout } = await promisify(execFile)(process.execPath, command, { cwd: root, env });
    return stdout;
  };

  it('tells an operator why an item is not permanent yet, until it is', async () => {
    const item = await signItem({ data: random.bytes(3_000) }, signer);
    const answer = await request(`${stack.urls.upload}/v1/tx/solana`, { method: 'POST', body: item });
    const { id } = JSON.parse(await answer.body.text());
    const why = () => admin('why', id, '--upload', stack.urls.upload ?? '');
    assert.match(await why(), /^(Waits for|Bundle [\w-]+ )/);
    await eventually('it to be permanent', async () => {
      await text(`${stack.urls.arweave}/mine`);
      return /^Permanent since .*, in the block at height [0-9]+\.$/m.test(await why());
    });
    await eventually('the gateway to have read its bundle', async () =>
      /^Gateway: It is indexed: .* at height [0-9]+\.$/m.test(await why()),
    );
  });

  it('serves nothing that is blocked at the gateway, on any surface, and all of it when that is lifted', async () => {
    const data = Buffer.from('guilty '.repeat(500));
    const item = await signItem({ data, tags: [{ name: 'Content-Type', value: 'text/plain' }] }, signer);
    const other = await signItem({ data: Buffer.from('innocent '.repeat(500)) }, signer);
    const [id = '', innocent = ''] = await Promise.all(
      [item, other].map(async (body) => {
        const answer = await request(`${stack.urls.upload}/v1/tx/solana`, { method: 'POST', body });
        return String(JSON.parse(await answer.body.text()).id);
      }),
    );
    const { gateway, router, upload } = stack.urls;
    const status = async (
      url: string,
      headers: Record<string, string> = {},
      method: 'GET' | 'HEAD' = 'GET',
    ) => {
      const answer = await request(url, { headers, method });
      await answer.body.dump();
      return answer.statusCode;
    };
    const direct = {
      'the gateway': () => status(`${gateway}/raw/${id}`),
      'the router': () => status(`${router}/raw/${id}`),
      'HEAD of the router': () => status(`${router}/${id}`, {}, 'HEAD'),
      'a redirect of the router': () => status(`${router}/raw/${id}?mode=route`),
      'the upload service': () => status(`${upload}/v1/data-item/${id}`),
    };
    // 404, 502 and 503: of what is not indexed yet.
    const closed = [403, 404, 451, 502, 503];
    const assertEach = async (ways: Record<string, () => Promise<number>>, isOpen: boolean) => {
      for (const [way, ask] of Object.entries(ways)) {
        const got = await ask();
        assert.ok((isOpen ? [200, 206, 302] : closed).includes(got), `${way}: ${got}`);
      }
    };
    for (const ask of Object.values(direct)) await eventually('it is open', async () => (await ask()) < 400);
    const hash = createHash('sha256').update(data).digest('hex');
    for (const what of [id, hash]) {
      const said = await admin('block', what, '--source', 'court', '--notes', 'case 7');
      assert.equal(said, 'Content blocked\nobeyed by: gateway, upload, router\n');
      await assertEach(direct, false);
      await admin('unblock', what);
      await assertEach(direct, true);
    }

    // Blocked before its bundle is mined: the bundle is closed from its first moment on.
    await admin('block', id);
    const { bundle, offset } = await eventually('it is in a bundle on the chain', async () => {
      await text(`${stack.urls.arweave}/mine`);
      const { bundleId } = await json(`${upload}/v1/tx/${id}/status`);
      const answer = await request(`${gateway}/tx/${String(bundleId)}/offset`);
      const place = await answer.body.text();
      return answer.statusCode === 200 && { bundle: String(bundleId), offset: JSON.parse(place).offset };
    });
    const byBundle = Object.fromEntries(
      Object.entries({ 'the gateway': gateway, 'the router': router }).flatMap(([name, url]) => [
        [`the bundle at ${name}`, () => status(`${url}/raw/${bundle}`)],
        [`HEAD of the bundle at ${name}`, () => status(`${url}/raw/${bundle}`, {}, 'HEAD')],
        [`the data of the bundle at ${name}`, () => status(`${url}/tx/${bundle}/data`)],
        [`a chunk at ${name}`, () => status(`${url}/chunk/${offset}`)],
        [`the bytes of a chunk at ${name}`, () => status(`${url}/chunk/${offset}/data`)],
      ]),
    );
    // The node has it; whether the gateway has imported it, and unbundled it, changes nothing.
    await assertEach({ ...byBundle, ...direct }, false);
    await eventually('it is unbundled', () => found(innocent));
    await assertEach({ ...byBundle, ...direct }, false);
    assert.equal(await status(`${router}/raw/${innocent}`), 200);
    await admin('unblock', id);
    for (const ask of Object.values(byBundle))
      await eventually('it is open', async () => (await ask()) < 400);
    await assertEach(direct, true);
    const token = readFileSync(join(stack.dataDir, 'keys', 'moderation-admin-token'), 'utf8').trim();
    const block = { type: 'arns', value: 'nobody', reason: 'case 8' };
    await request(`${router}/router/moderation/block`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(block),
    });
    const lines = JSON.parse(await admin('audit', '--json', '--limit', '3', '--router', router ?? ''));
    assert.deepEqual(
      lines.map((line: AuditLine) => [line.surface, line.action, line.kind, line.value, line.result]),
      [
        ['router', 'block', 'name', 'nobody', 'done'],
        ['gateway', 'unblock', 'id', id, 'done'],
        ['gateway', 'block', 'id', id, 'done'],
      ],
    );
    const shown = await admin('audit', '--since', '2020-01-01', '--router', router ?? '');
    assert.match(shown, new RegExp(`gateway  key [0-9a-f]{8}  block  id ${id}  \\(court: case 7\\)  done`));
    assert.match(shown, /router {2}key [0-9a-f]{8} {2}block {2}name nobody {2}\(api: case 8\) {2}done/);
  });
});
