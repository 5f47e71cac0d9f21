/** Content over HTTP: what is not in the cache yet, what was damaged there, and what does not fit. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type AdminGateway, startAdminGateway } from '../../../test/support/admin-gateway.ts';
import { flipByte } from '../../../test/support/damage.ts';
import { engines, makeTransaction, text, until } from '../../../test/support/local-gateway.ts';
import { seededRandom } from '../../../test/support/seeded-random.ts';

const random = seededRandom(9_110);
const etagOf = (bytes: Buffer) => `"${createHash('sha256').update(bytes).digest('base64url')}"`;

for (const engine of engines)
  describe(`content over HTTP (${engine.name})`, () => {
    let gateway: AdminGateway;
    before(async () => {
      gateway = await startAdminGateway(engine.options);
    });
    after(() => gateway.stop());

    /** Content on the chain that nobody has read here. */
    async function post(data: Buffer): Promise<string> {
      const { node } = gateway.stack;
      const made = await makeTransaction(node.url, data, [{ name: 'Content-Type', value: 'image/png' }]);
      await made.post();
      await text(`${node.url}/mine`);
      const id = made.transaction.id.toString('base64url');
      await until('it is indexed', async () => (await gateway.inside.index.locate(id))?.height);
      return id;
    }

    async function read(id: string, headers: Record<string, string> = {}, method = 'GET') {
      const answer = await fetch(`${gateway.url}/raw/${id}`, { method, headers });
      return {
        status: answer.status,
        headers: answer.headers,
        cache: answer.headers.get('x-cache'),
        bytes: Buffer.from(await answer.arrayBuffer()),
      };
    }

    /** Status and headers, but for those that are another in every answer. */
    function facts({ status, headers }: { status: number; headers: Headers }) {
      const own = new Set(['date', 'x-request-id', 'connection', 'keep-alive']);
      return {
        status,
        headers: [...headers]
          .filter(([name]) => !own.has(name))
          .map(([name, value]) => [name, value.replace(/boundary=.*/, 'boundary')])
          .sort(),
      };
    }

    test('a frame says that it varies, the content itself does not, whichever was read first', async () => {
      for (const order of [
        ['frame', 'content'],
        ['content', 'frame'],
      ] as const) {
        const id = await post(random.bytes(500));
        await until('it is cached', async () => (await read(id)).cache === 'HIT');
        for (const what of [...order, ...order]) {
          const path = what === 'frame' ? `local/social/frame/${id}` : `${id}/`;
          const answer = await fetch(`${gateway.url}/${path}`, { headers: { accept: 'text/html' } });
          await answer.arrayBuffer();
          const expected = what === 'frame' ? 'Accept' : null;
          assert.deepEqual([answer.status, answer.headers.get('vary')], [200, expected], what);
        }
      }
    });

    test('a frame is the record unless HTML is preferred, and HEAD says what GET would', async () => {
      const data = random.bytes(401);
      const id = await post(data);
      const url = `${gateway.url}/local/social/frame/${id}`;
      for (const [accept, type] of [
        ['*/*', 'application/json; charset=utf-8'],
        ['application/json, text/html;q=0.5', 'application/json; charset=utf-8'],
        ['text/html, */*;q=0.8', 'image/png'],
      ] as const) {
        const got = await fetch(url, { headers: { accept } });
        const asked = await fetch(url, { headers: { accept }, method: 'HEAD' });
        const bytes = Buffer.from(await got.arrayBuffer());
        for (const answer of [got, asked]) {
          assert.deepEqual([answer.status, answer.headers.get('content-type')], [200, type], accept);
          assert.equal(answer.headers.get('content-length'), String(bytes.length), accept);
          assert.equal(answer.headers.get('vary'), 'Accept');
        }
        if (type === 'image/png') assert.ok(bytes.equals(data));
        else assert.equal(JSON.parse(bytes.toString()).data, data.toString('base64url'));
      }
    });

    test('an id is found however its letters are encoded', async () => {
      const data = random.bytes(300);
      const id = await post(data);
      const encoded = `%${Buffer.from(id.slice(0, 1)).toString('hex')}${id.slice(1)}`;
      for (const path of [encoded, `${encoded}/`, `raw/${encoded}`, `raw/${encoded}/`]) {
        const answer = await fetch(`${gateway.url}/${path}`);
        assert.ok(Buffer.from(await answer.arrayBuffer()).equals(data), `${path}: ${answer.status}`);
      }
    });

    test('HEAD of what is not here says all that GET will, and keeps nothing of it', async () => {
      const data = random.bytes(400_000);
      const id = await post(data);
      for (let round = 0; round < 2; round += 1) {
        const head = await read(id, {}, 'HEAD');
        assert.deepEqual([head.status, head.cache, head.bytes.length], [200, 'MISS', 0]);
        assert.equal(head.headers.get('content-length'), '400000');
        assert.equal(head.headers.get('content-type'), 'image/png');
        assert.equal(head.headers.get('etag'), null, 'what is not known is not said');
        const part = await read(id, { range: 'bytes=10-19' }, 'HEAD');
        assert.equal(part.status, 206);
        assert.equal(part.headers.get('content-range'), 'bytes 10-19/400000');
      }
    });

    test('ranges of what is not here are fetched as ranges, one or several', async () => {
      const data = random.bytes(700_000);
      const id = await post(data);
      const one = await read(id, { range: 'bytes=262100-262199' });
      assert.equal(one.status, 206);
      assert.ok(one.bytes.equals(data.subarray(262_100, 262_200)));
      const spans = [
        [5, 9],
        [300_000, 599_999],
        [699_990, 699_999],
      ] as const;
      const several = await read(id, { range: `bytes=${spans.map((span) => span.join('-')).join(', ')}` });
      assert.equal(several.status, 206);
      assert.equal(several.bytes.length, Number(several.headers.get('content-length')));
      const boundary = several.headers.get('content-type')?.split('boundary=')[1] ?? '';
      const expected = spans.map(([start, end], at) =>
        Buffer.concat([
          Buffer.from(
            `${at === 0 ? '' : '\r\n'}--${boundary}\r\nContent-Type: image/png\r\nContent-Range: bytes ${start}-${end}/700000\r\n\r\n`,
          ),
          data.subarray(start, end + 1),
        ]),
      );
      assert.ok(several.bytes.equals(Buffer.concat([...expected, Buffer.from(`\r\n--${boundary}--\r\n`)])));
      assert.equal((await read(id, {}, 'HEAD')).cache, 'MISS');
      assert.equal((await read(id, { range: 'bytes=700000-' })).status, 416);
    });

    test('If-Range gives the part of the same content, and the whole of any other', async () => {
      const data = random.bytes(300_000);
      const id = await post(data);
      const range = 'bytes=0-9';
      const unknown = await read(id, { range, 'if-range': '"something else"' });
      assert.deepEqual([unknown.status, unknown.cache], [200, 'MISS']);
      assert.ok(unknown.bytes.equals(data));
      const same = await read(id, { range, 'if-range': etagOf(data) });
      assert.equal(same.status, 206);
      for (const other of ['"other"', `W/${etagOf(data)}`, 'Wed, 21 Oct 2015 07:28:00 GMT']) {
        const answer = await read(id, { range, 'if-range': other });
        assert.equal(answer.status, 200, other);
        assert.ok(answer.bytes.equals(data));
      }
      assert.equal((await read(id, { range: 'bytes=900000-', 'if-range': '"other"' })).status, 200);
    });

    test('what was answered before is answered the same, whole or in part, and says the same to HEAD', async () => {
      for (const size of [5_000, 300_000]) {
        const data = random.bytes(size);
        const id = await post(data);
        await read(id);
        const ranges = Array.from({ length: 30 }, () => {
          const start = random.between(0, size - 1);
          return `bytes=${start}-${start + random.between(0, 20_000)}`;
        });
        const others = [
          'bytes=0-',
          'bytes=-1',
          'bytes=16383-16384',
          'bytes=0-0,2-3',
          'bytes=400000-',
          'bytes=5-2',
        ];
        for (const range of [undefined, ...ranges, ...others, 'bytes= 0-1', 'bytes=x']) {
          const headers: Record<string, string> = range === undefined ? {} : { range };
          // A header that sends the request the long way and changes nothing of the answer.
          const long = await read(id, { ...headers, 'if-none-match': '"other"' });
          const [first, second, head] = [
            await read(id, headers),
            await read(id, headers),
            await read(id, headers, 'HEAD'),
          ];
          for (const answer of [first, second, head]) {
            assert.deepEqual(facts(answer), facts(long), `${range} of ${size}`);
          }
          if (range?.includes(',') === true) continue; // its boundary is another each time
          for (const answer of [first, second])
            assert.ok(answer.bytes.equals(long.bytes), `${range} of ${size}`);
        }
      }
    });

    test('a condition on what was here needs no bytes', async () => {
      const data = random.bytes(100_000);
      const id = await post(data);
      await read(id);
      await gateway.inside.content.dropCopies([etagOf(data).slice(1, -1)]);
      const condition = `"a", ${etagOf(data)}`;
      assert.equal((await read(id, { 'if-none-match': condition })).status, 304);
      assert.equal((await read(id, {}, 'HEAD')).cache, 'MISS');
      assert.equal((await read(id, { 'if-none-match': '"a"' })).status, 200);
    });

    test('content without bytes is content', async () => {
      const id = await post(Buffer.alloc(0));
      const answer = await read(id);
      assert.deepEqual([answer.status, answer.bytes.length], [200, 0]);
      assert.equal(answer.headers.get('content-length'), '0');
      assert.equal(answer.headers.get('etag'), etagOf(Buffer.alloc(0)));
      assert.equal((await read(id, { range: 'bytes=0-' })).status, 416);
    });

    test('a file that was damaged on disk is fetched again, never served', async () => {
      for (const size of [1_000, 500_000]) {
        const data = random.bytes(size);
        const id = await post(data);
        await read(id);
        assert.equal((await read(id)).cache, 'HIT');
        const digest = createHash('sha256').update(data).digest('hex');
        const [file] = globSync(`**/${digest}`, { cwd: gateway.cacheFolder });
        assert.ok(file !== undefined, 'the file is where it should be');
        const path = join(gateway.cacheFolder, file);
        const bytes = readFileSync(path);
        bytes[size / 2] = (bytes[size / 2] ?? 0) ^ 1;
        writeFileSync(path, bytes);
        await gateway.restart();
        const again = await read(id);
        assert.deepEqual([again.status, again.cache], [200, 'MISS']);
        assert.ok(again.bytes.equals(data));
        assert.equal((await read(id)).cache, 'HIT');
        assert.ok(readFileSync(path).equals(data), 'the file is whole again');
      }
    });

    test('a file that is damaged while the gateway runs is fetched again, whole and by range', async () => {
      const corruption = async () => {
        const metrics = await text(`${gateway.url}/gw/__gateway_metrics`);
        return Number(/^contiguous_data_cache_corruption_total (\d+)$/m.exec(metrics)?.[1]);
      };
      const data = random.bytes(600_000);
      const id = await post(data);
      await until('it is cached', async () => (await read(id)).cache === 'HIT');
      const digest = createHash('sha256').update(data).digest('hex');
      const [file = ''] = globSync(`**/${digest}`, { cwd: gateway.cacheFolder });
      const path = join(gateway.cacheFolder, file);
      for (const range of [undefined, 'bytes=300000-300009', 'bytes=-100,0-9']) {
        const before = await corruption();
        flipByte(path, 300_004);
        const headers: Record<string, string> = range === undefined ? {} : { range };
        const answer = await read(id, headers);
        if (range === undefined) assert.ok(answer.bytes.equals(data));
        else assert.equal(answer.status, 206);
        if (range === 'bytes=300000-300009') assert.ok(answer.bytes.equals(data.subarray(300_000, 300_010)));
        assert.equal(await corruption(), before + 1);
        await until('it is cached again', async () => (await read(id)).cache === 'HIT');
        assert.ok(readFileSync(path).equals(data), 'the file is whole again');
      }
      // Nobody asks for it, and the scrub finds it.
      const before = await corruption();
      flipByte(path, 300_004);
      await gateway.inside.content.scrub.pass();
      assert.equal(await corruption(), before + 1);
      await until('it is fetched again', async () => {
        const [again] = globSync(`**/${digest}`, { cwd: gateway.cacheFolder });
        return again !== undefined && readFileSync(path).equals(data);
      });
    });

    test('what is on the chain is served before its block is imported', async () => {
      await gateway.restart({ START_WRITERS: 'false' });
      const { node } = gateway.stack;
      const data = random.bytes(600_000);
      const made = await makeTransaction(node.url, data, [{ name: 'Content-Type', value: 'image/png' }]);
      await made.post();
      await text(`${node.url}/mine`);
      const answer = await read(made.transaction.id.toString('base64url'));
      assert.deepEqual([answer.status, answer.headers.get('content-type')], [200, 'image/png']);
      assert.ok(answer.bytes.equals(data));
      assert.equal(answer.headers.get('x-ar-io-stable'), 'false');
      await gateway.restart();
    });

    test('content larger than the cache takes is streamed past it', async () => {
      await gateway.restart({ CONTIGUOUS_DATA_CACHE_MAX_BYTES: '1048576' });
      const data = random.bytes(900_000);
      const id = await post(data);
      for (let round = 0; round < 2; round += 1) {
        const answer = await read(id);
        assert.deepEqual([answer.status, answer.cache], [200, 'MISS']);
        assert.ok(answer.bytes.equals(data));
      }
      await gateway.restart();
    });
  });
