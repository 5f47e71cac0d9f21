import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../../../test/support/eventually.ts';
import { memberOf } from '../../formats/json.ts';
import { forEachEngine } from '../../storage/sql/testing.ts';
import { signItem, solanaSigner } from '../../wallets/data-items/signer.ts';
import { ed25519TestKey } from '../../wallets/testing/keys.ts';
import { startTestUpload, type TestUpload, testAdminKey, testMigrations } from '../testing.ts';
import { numberGateway } from './waiting-announcements.ts';

const signer = solanaSigner(ed25519TestKey('announcer'));
const environment = { FREE_UPLOAD_LIMIT: '1000', BUNDLE_POLL_MS: '3600000' };

/** A gateway that takes what it is told, as far as a test lets it. */
interface FakeGateway {
  readonly url: string;
  readonly host: string;
  readonly told: Set<string>;
  readonly calls: string[][];
  /** Answered in place of 200 to what it is told. */
  status: number;
  isAway: boolean;
  key: string;
  readonly refused: Set<string>;
  /** What a call waits for. */
  before: () => Promise<unknown>;
}

async function startGateway(t: TestContext): Promise<FakeGateway> {
  const server: Server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part);
    const answer = (status: number): void => void response.writeHead(status).end();
    if (gateway.isAway) return void request.socket.destroy();
    if (request.headers.authorization !== `Bearer ${gateway.key}`) return answer(401);
    if (request.method === 'GET') return answer(404);
    const items: { id: string }[] = JSON.parse(Buffer.concat(parts).toString());
    gateway.calls.push(items.map(({ id }) => id));
    await gateway.before();
    if (gateway.status !== 200) return answer(gateway.status);
    if (items.some(({ id }) => gateway.refused.has(id))) return answer(400);
    for (const { id } of items) gateway.told.add(id);
    return answer(200);
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const place = server.address();
  assert.ok(place !== null && typeof place === 'object');
  const host = `127.0.0.1:${place.port}`;
  const gateway: FakeGateway = {
    ...{ url: `http://${host}`, host, told: new Set<string>(), calls: [], refused: new Set<string>() },
    ...{ status: 200, isAway: false, key: 'key', before: async () => {} },
  };
  return gateway;
}

const other = ({ url, host }: FakeGateway, hasData = true) => ({ url, host, key: 'key', hasData });

async function post(upload: TestUpload, text: string) {
  const { status, body } = await upload.post('/v1/tx', await signItem({ data: Buffer.from(text) }, signer));
  assert.equal(status, 200);
  return { id: String(body.id), known: body.fastFinalityIndexes, data: body.dataCaches };
}

const statusOf = async (upload: TestUpload, id: string) => (await upload.get(`/v1/tx/${id}/status`)).body;

interface Told {
  readonly gateways: readonly Record<string, unknown>[];
  readonly items: readonly { readonly id: string; readonly gateways: readonly string[] }[];
}

async function announcements(upload: TestUpload): Promise<Told> {
  const headers = { authorization: `Bearer ${testAdminKey}` };
  return JSON.parse((await upload.get('/v1/admin/announcements', headers)).bytes.toString());
}

describe('announcing to gateways', () => {
  forEachEngine((_engine, open) => {
    const start = async (
      t: TestContext,
      own: FakeGateway,
      others: readonly FakeGateway[] = [],
      more: Record<string, string> = {},
    ) => {
      const sql = await open(testMigrations, 'ledger');
      const upload = await startTestUpload(
        { ...environment, ...more },
        {
          gateway: { publicUrl: own.url, admin: { url: own.url, key: 'key' } },
          otherGateways: others.map((gateway) => other(gateway)),
        },
        { sql },
      );
      let isOpen = true;
      const close = async () => {
        if (isOpen) await upload.close();
        isOpen = false;
      };
      t.after(close);
      return { sql, upload, close };
    };

    it('keeps nothing back because of an item that the gateway does not take', async (t) => {
      const gateway = await startGateway(t);
      gateway.isAway = true;
      const { sql, upload } = await start(t, gateway);
      // At once: the longer the gateway is away, the longer it is left alone.
      const posted = await Promise.all(
        Array.from({ length: 20 }, (_, index) => post(upload, `item ${index}`)),
      );
      const ids = posted.map(({ id }) => id);
      const [first = '', , third = ''] = ids;
      gateway.refused.add(first).add(third);
      gateway.isAway = false;
      await eventually('18 items to be announced', async () => gateway.told.size >= 18);
      assert.deepEqual([...gateway.told].sort(), ids.filter((id) => !gateway.refused.has(id)).sort());
      const left = async () =>
        (await sql.get<{ n: number }>('SELECT COUNT(*) AS n FROM upload_announcements'))?.n;
      await eventually('nothing to be left', async () => (await left()) === 0);
      assert.deepEqual((await statusOf(upload, first)).fastFinalityIndexes, []);
      assert.deepEqual((await statusOf(upload, ids[1] ?? '')).fastFinalityIndexes, [gateway.host]);
      assert.equal((await announcements(upload)).gateways[0]?.refused, 2);
    });

    it('tells an item that comes while another is being told right after it', async (t) => {
      const gateway = await startGateway(t);
      const { upload } = await start(t, gateway);
      const answers: (() => void)[] = [];
      gateway.before = () => new Promise<void>((answer) => answers.push(answer));
      const { id: one } = await post(upload, 'one');
      await eventually('the first call', async () => answers.length === 1);
      const { id: two } = await post(upload, 'two');
      // Longer than items are gathered for: the moment to tell it comes and goes while the first call is out.
      await sleep(100);
      answers[0]?.();
      await eventually('the second call', async () => answers.length === 2);
      answers[1]?.();
      assert.deepEqual(gateway.calls, [[one], [two]]);
    });

    it('names in receipts who listens and in the status who was told, and one that is away holds nobody up', async (t) => {
      const [own, near, far] = [await startGateway(t), await startGateway(t), await startGateway(t)];
      far.isAway = true;
      const { upload } = await start(t, own, [near, far]);
      const listening = [own.host, near.host];
      await eventually('the second gateway to be known', async () => {
        const { gateways } = await announcements(upload);
        return gateways.filter((gateway) => gateway.listening).length === 2;
      });
      const first = await post(upload, 'first');
      assert.deepEqual([first.known, first.data], [listening, listening]);
      await eventually(
        'two gateways to be told',
        async () => own.told.has(first.id) && near.told.has(first.id),
      );
      await eventually('the status to name them', async () => {
        const { fastFinalityIndexes } = await statusOf(upload, first.id);
        return JSON.stringify(fastFinalityIndexes) === JSON.stringify(listening);
      });
      const waiting = await announcements(upload);
      assert.deepEqual(
        waiting.items.map(({ id, gateways }) => [id, gateways]),
        [[first.id, [far.host]]],
      );
      const away = waiting.gateways.find(({ host }) => host === far.host);
      assert.deepEqual([away?.waiting, away?.listening, away?.dropped], [1, false, 0]);
      assert.match(String(away?.lastError), /did not answer/);
      const returned = performance.now();
      far.isAway = false;
      await eventually('the third to be told', async () => far.told.has(first.id));
      assert.ok(performance.now() - returned < 5_000);
      await eventually('the status to name all', async () => {
        const { fastFinalityIndexes } = await statusOf(upload, first.id);
        return Array.isArray(fastFinalityIndexes) && fastFinalityIndexes.length === 3;
      });
      const last = await post(upload, 'last');
      assert.deepEqual(last.known, [...listening, far.host]);
    });

    it('waits for nobody who hangs, and goes on with the others', async (t) => {
      const [own, slow] = [await startGateway(t), await startGateway(t)];
      const { upload } = await start(t, own, [slow]);
      let release = () => {};
      slow.before = () => new Promise<void>((resolve) => (release = resolve));
      t.after(() => release());
      const ids: string[] = [];
      const startedAt = performance.now();
      for (let count = 0; count < 5; count += 1) {
        const { id } = await post(upload, `item ${count}`);
        ids.push(id);
        await eventually('its own gateway to be told', async () => own.told.has(id));
      }
      assert.ok(performance.now() - startedAt < 5_000, 'the others waited for it once at most');
      assert.equal(slow.told.size, 0);
      slow.before = async () => {};
      release();
      await eventually('the slow one to be told', async () => ids.every((id) => slow.told.has(id)));
    });

    it('keeps what waits over a restart, and no more than it may', async (t) => {
      const [own, far] = [await startGateway(t), await startGateway(t)];
      far.isAway = true;
      const first = await start(t, own, [far], { ANNOUNCE_MAX_WAITING: '3' });
      const ids: string[] = [];
      for (let count = 0; count < 6; count += 1) {
        first.upload.clock += 1_000;
        const { id } = await post(first.upload, `item ${count}`);
        ids.push(id);
        await eventually('its own gateway to be told', async () => own.told.has(id));
      }
      const kept = ids.slice(3);
      const waiting = async () => (await announcements(first.upload)).items.map(({ id }) => id);
      await eventually('the oldest to be dropped', async () => (await waiting()).length === 3);
      assert.deepEqual(await waiting(), kept);
      await first.close();
      far.isAway = false;
      const second = await start(t, own, [far]);
      await eventually('the rest to be told', async () => far.told.size === 3);
      assert.deepEqual([...far.told].sort(), kept.toSorted());
      const [, told] = (await announcements(second.upload)).gateways;
      assert.deepEqual([told?.dropped, told?.host], [3, far.host]);
      assert.equal(await numberGateway(second.sql, far.url), 1, 'it keeps its number');
    });

    it('says that a gateway does not take the key, and tries again once it does', async (t) => {
      const [own, far] = [await startGateway(t), await startGateway(t)];
      far.key = 'another';
      const { upload } = await start(t, own, [far]);
      const { id } = await post(upload, 'one');
      const errorOf = async () => (await announcements(upload)).gateways[1]?.lastError;
      await eventually('the refusal', async () => (await errorOf()) === 'the gateway does not take our key');
      await eventually('the item to say so', async () => {
        const report = await upload.get(`/v1/admin/items/${id}`, { authorization: `Bearer ${testAdminKey}` });
        return String(memberOf(report.body, 'waitingFor')) === far.host;
      });
      far.key = 'key';
      await eventually('it to be told', async () => far.told.has(id));
    });

    it('goes on with items that an earlier release had still to announce', async (t) => {
      const own = await startGateway(t);
      own.status = 503;
      const first = await start(t, own);
      const { id } = await post(first.upload, 'one');
      await eventually('it to wait', async () => own.calls.length > 0);
      await first.close();
      await first.sql.run('DELETE FROM upload_announcements');
      await first.sql.run('UPDATE upload_items SET announce_at = 1, told = NULL WHERE id = ?', id);
      own.status = 200;
      await start(t, own);
      await eventually('it to be told', async () => own.told.has(id));
    });
  });
});
