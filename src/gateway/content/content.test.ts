/** Sources that lie, stop, hang or are away, over real sockets. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { upstreamUnavailable } from '../errors.ts';
import { ownJourney } from './sources/source.ts';
import {
  contentOver,
  gatewayWith,
  isCached,
  read,
  saying,
  serve,
  sha256,
  silence,
  someBytes,
  something,
  unavailable,
  withStatus,
} from './testing.ts';

describe('a gateway that lies', () => {
  test('about small content is passed by, and nobody sees a byte of it', async () => {
    const { id, bytes, changed, located } = something(200_000);
    const liar = await serve(gatewayWith(changed));
    const honest = await serve(gatewayWith(bytes));
    const { content, noted } = contentOver({ gateways: [liar.url, honest.url], located });
    assert.ok((await read(content, id))?.equals(bytes));
    assert.deepEqual([liar.asked.length, honest.asked.length], [1, 1]);
    assert.deepEqual(noted, [located.hash]);
    assert.equal(await isCached(changed), false);
    assert.equal(await isCached(bytes), true);
  });

  test('does not close content for ever that the chain can prove', async () => {
    const { id, bytes, changed, located } = something(200_000);
    const liar = await serve(gatewayWith(changed));
    const unread = { ...located, hash: undefined };
    const { content: before, noted } = contentOver({ gateways: [liar.url], located: unread });
    assert.ok((await read(before, id))?.equals(changed), 'while no node answers');
    const hash = noted[0];
    assert.ok(hash !== undefined && hash !== located.hash);
    await before.cached.drop(hash);
    const { content, noted: later } = contentOver({
      gateways: [],
      located: { ...located, hash },
      proven: bytes,
    });
    await assert.rejects(read(content, id), withStatus(502), 'what was promised is not what there is');
    assert.ok((await read(content, id))?.equals(bytes));
    assert.deepEqual(later, [located.hash]);
  });

  test('and is alone is 502; its bytes are not kept', async () => {
    const { id, changed, located } = something(200_000);
    const liar = await serve(gatewayWith(changed));
    const { content, noted } = contentOver({ gateways: [liar.url], located });
    await assert.rejects(read(content, id), withStatus(502));
    assert.deepEqual(noted, []);
    assert.equal(await isCached(changed), false);
  });

  test('about large content does not get to its last byte', async () => {
    const { id, bytes, changed, located } = something(3_000_000);
    const liar = await serve(gatewayWith(changed));
    const { content } = contentOver({ gateways: [liar.url], located });
    const described = await content.describe(id);
    assert.ok(described);
    const opened = await content.open(described, undefined, ownJourney, new AbortController().signal);
    let got = 0;
    await assert.rejects(async () => {
      for await (const piece of opened?.stream ?? []) got += piece.length;
    }, withStatus(502));
    assert.ok(got > 0 && got < bytes.length, `${got} bytes`);
    assert.equal(await isCached(changed), false);
  });

  test('about its own digest, its size or the range it sends is not believed', async () => {
    const { id, bytes, located } = something(100_000);
    const digest = await serve(gatewayWith(bytes, { digest: 'A'.repeat(43) }));
    const size = await serve(gatewayWith(bytes.subarray(1)));
    const range = await serve((_request, response) => {
      response.writeHead(206, { 'content-range': 'bytes 50000-99999/100000', 'content-length': 50_000 });
      response.end(bytes.subarray(50_000));
    });
    for (const { url } of [digest, size, range]) {
      const { content } = contentOver({ gateways: [url], located });
      await assert.rejects(read(content, id, { start: 10, end: 20 }), withStatus(502));
    }
    const unknown = contentOver({ gateways: [digest.url] });
    await assert.rejects(read(unknown.content, id), withStatus(502));
  });
});

describe('a source that stops', () => {
  test('is continued by the next one where it stopped', async () => {
    const { id, bytes, located } = something(900_000);
    const first = await serve(gatewayWith(bytes, { breakAt: 400_000 }));
    const second = await serve(gatewayWith(bytes));
    const { content } = contentOver({ gateways: [first.url, second.url], located });
    assert.ok((await read(content, id))?.equals(bytes));
    assert.match(second.asked[0]?.headers.range ?? '', /^bytes=[1-9]\d*-899999$/);
    assert.equal(await isCached(bytes), true);
  });

  test('in the middle of a range, or of content too large to keep, is continued too', async () => {
    const { id, bytes, located } = something(900_000);
    const breaking = () => serve(gatewayWith(bytes, { breakAt: 400_000 }));
    const whole = await serve(gatewayWith(bytes));
    const part = contentOver({ gateways: [(await breaking()).url, whole.url], located });
    const range = { start: 100_000, end: 800_000 };
    assert.ok((await read(part.content, id, range))?.equals(bytes.subarray(100_000, 800_000)));
    const large = contentOver({
      gateways: [(await breaking()).url, whole.url],
      located,
      maxCachedBytes: 500_000,
    });
    assert.ok((await read(large.content, id))?.equals(bytes));
    assert.equal(await isCached(bytes), false, 'what is too large is not kept');
  });

  test('with nobody to continue is 502, and is not kept', async () => {
    const { id, bytes, located } = something(900_000);
    const only = await serve(gatewayWith(bytes, { breakAt: 400_000 }));
    const { content } = contentOver({ gateways: [only.url], located });
    await assert.rejects(read(content, id), withStatus(502));
    assert.equal(await isCached(bytes), false);
  });

  test('an upload service that stops is continued by a gateway', async () => {
    const { id, bytes, located } = something(700_000);
    const item = Buffer.concat([someBytes(1_044), bytes]);
    const upload = await serve((_request, response) => {
      response.writeHead(200, { 'content-length': item.length, 'x-payload-offset': 1_044 });
      response.write(item.subarray(0, 300_000), () => response.destroy());
    });
    const gateway = await serve(gatewayWith(bytes));
    const { content } = contentOver({ upload: upload.url, gateways: [gateway.url], located });
    assert.ok((await read(content, id))?.equals(bytes));
  });
});

describe('a source that hangs', () => {
  test('before its first byte is 504, or the next one answers', async () => {
    const { id, bytes, located } = something(10_000);
    const silent = await serve(silence);
    const hanging = [silent.url];
    const alone = contentOver({ gateways: [silent.url], hanging, located });
    await assert.rejects(read(alone.content, id), withStatus(504));
    const other = await serve(gatewayWith(bytes));
    const { content } = contentOver({ gateways: [silent.url, other.url], hanging, located });
    assert.ok((await read(content, id))?.equals(bytes));
  });

  test('in the middle is left for the next one', async () => {
    const { id, bytes, located } = something(900_000);
    const stalling = await serve(gatewayWith(bytes, { breakAt: 300_000, stall: true }));
    const hanging = [stalling.url];
    const alone = contentOver({ gateways: [stalling.url], hanging, located });
    await assert.rejects(read(alone.content, id), withStatus(504));
    const other = await serve(gatewayWith(bytes));
    const { content } = contentOver({ gateways: [stalling.url, other.url], hanging, located });
    assert.ok((await read(content, id))?.equals(bytes));
  });
});

describe('absence', () => {
  test('is said when every source said so, and only then', async () => {
    const { id } = something(10);
    const none = await serve(saying(404));
    const gone = await serve(saying(410));
    const without = contentOver({ upload: none.url, gateways: [none.url, gone.url] });
    await assert.rejects(read(without.content, id), unavailable('absent'));
    for (const [status, expected] of [
      [500, 502],
      [503, 503],
      [429, 503],
    ] as const) {
      const failing = await serve(saying(status));
      const { content } = contentOver({ gateways: [none.url, failing.url, gone.url] });
      await assert.rejects(read(content, id), withStatus(expected));
      await assert.rejects(read(content, id), withStatus(503), 'also while the gateway rests');
    }
    const nobody = contentOver({ gateways: ['http://127.0.0.1:1', none.url] });
    await assert.rejects(read(nobody.content, id), withStatus(502));
  });

  test('is not said while the upload service has not started, and what the chain has is served', async () => {
    const { id, bytes } = something(10);
    const none = await serve(saying(404));
    const starting = contentOver({ upload: '', gateways: [none.url] });
    await assert.rejects(read(starting.content, id), withStatus(503));
    await assert.rejects(read(starting.content, id), withStatus(503));
    const { content } = contentOver({ upload: '', gateways: [], proven: bytes });
    assert.ok((await read(content, id))?.equals(bytes));
  });

  test('for a request that may not go on to others is not absence for everybody', async () => {
    const { id, bytes } = something(10_000);
    const gateway = await serve(gatewayWith(bytes));
    const { content } = contentOver({ gateways: [gateway.url] });
    for (const journey of [
      { hops: 3, via: [] },
      { hops: 1, via: ['me'] },
      { hops: 0, via: [new URL(gateway.url).host] },
    ]) {
      await assert.rejects(read(content, id, undefined, journey), unavailable('not-asked'));
    }
    assert.equal(gateway.asked.length, 0);
    assert.ok((await read(content, id))?.equals(bytes));
  });

  test('is not what a gateway says that did not look everywhere, which does not rest for it', async () => {
    const { id, located } = something(10);
    const unsure = await serve((_request, response) =>
      response.writeHead(404, { 'cache-control': 'no-store' }).end(),
    );
    const none = await serve(saying(404));
    const gateways = [unsure.url, none.url];
    const { content } = contentOver({ gateways });
    await assert.rejects(read(content, id), unavailable('not-asked'));
    await assert.rejects(read(content, id), unavailable('not-asked'), 'as it is remembered too');
    assert.equal(unsure.asked.length, 1, 'the same question does not go out again for a while');
    const known = contentOver({ gateways, located });
    await assert.rejects(read(known.content, id), unavailable('not-asked'));
    await assert.rejects(read(known.content, id), unavailable('not-asked'), 'it does not rest for it');
  });

  test('of what is indexed is never said: it waits for its block, or cannot be read now', async () => {
    const none = await serve(saying(404));
    const { id, located } = something(10);
    const mined = contentOver({ gateways: [none.url], located });
    await assert.rejects(read(mined.content, id), unavailable('unreadable'));
    const waiting = contentOver({ gateways: [none.url], located: { ...located, height: undefined } });
    await assert.rejects(read(waiting.content, id), unavailable('pending'));
  });

  test('of what waits for its block is found out anew each time, since it may have been dropped', async () => {
    const { id, bytes, located } = something(10);
    let isThere = true;
    const gateway = await serve((request, response) =>
      (isThere ? gatewayWith(bytes) : saying(404))(request, response),
    );
    const waiting = { ...located, height: undefined };
    const { content } = contentOver({ gateways: [gateway.url], located: waiting });
    const check = async () => content.checkReadable(await content.describe(id), 0, ownJourney);
    await check();
    isThere = false;
    await assert.rejects(check(), unavailable('pending'));
  });

  test('ends with the record, or with the upload, and not after a while', async () => {
    const { id, bytes } = something(1_000);
    const item = Buffer.concat([someBytes(100), bytes]);
    let isUploaded = false;
    const upload = await serve((_request, response) => {
      if (!isUploaded) response.writeHead(404).end();
      else {
        response.writeHead(200, { 'content-length': item.length, 'x-payload-offset': 100 });
        response.end(item);
      }
    });
    const other = await serve(saying(404));
    const { content } = contentOver({ upload: upload.url, gateways: [other.url] });
    const several = async () => {
      const answers = await Promise.allSettled(Array.from({ length: 10 }, () => read(content, id)));
      for (const answer of answers)
        assert.ok(answer.status === 'rejected' && unavailable('absent')(answer.reason));
    };
    await several();
    await several();
    assert.equal(other.asked.length, 1, 'others are not asked again for a while');
    assert.equal(upload.asked.length, 2, 'once for all who ask at once');
    isUploaded = true;
    assert.ok((await read(content, id))?.equals(bytes));

    const later = something(1_000);
    let isThere = false;
    const late = await serve((request, response) =>
      (isThere ? gatewayWith(later.bytes) : saying(404))(request, response),
    );
    const announced = contentOver({ gateways: [late.url] });
    await assert.rejects(read(announced.content, later.id), unavailable('absent'));
    isThere = true;
    announced.index(later.located);
    assert.ok((await read(announced.content, later.id))?.equals(later.bytes));
  });

  test('of a chain that cannot be looked at is not said; who has it is asked all the same', async () => {
    const { id, bytes } = something(1_000);
    const down = { makeKnown: () => Promise.reject(upstreamUnavailable(new Error('no node answers'))) };
    const none = await serve(saying(404));
    const { content } = contentOver({ gateways: [none.url], ...down });
    await assert.rejects(read(content, id), withStatus(503));
    await assert.rejects(read(content, id), withStatus(503), 'and is not remembered');
    const gateway = await serve(gatewayWith(bytes));
    assert.ok((await read(contentOver({ gateways: [gateway.url], ...down }).content, id))?.equals(bytes));
  });
});

describe('content that only others know', () => {
  test('is fetched once however many want it, and then is in the cache', async () => {
    const { id, bytes } = something(2_000_000);
    const gateway = await serve(gatewayWith(bytes));
    const { content } = contentOver({ gateways: [gateway.url] });
    await content.describe(id);
    const got = await Promise.all(Array.from({ length: 50 }, () => read(content, id)));
    for (const one of got) assert.ok(one?.equals(bytes));
    // What was learnt of it is asked for again after a while, by a range.
    const whole = gateway.asked.filter(({ headers }) => headers.range === undefined);
    assert.equal(whole.length, 1);
    const described = await content.describe(id);
    assert.equal(described?.hash, sha256(bytes).toString('base64url'));
    content.forget(id);
    assert.equal((await content.describe(id))?.hash, described?.hash, 'its hash is remembered');
  });

  test('is not fetched to its end for readers that have all left, and is had by the next', async () => {
    const { id, bytes, located } = something(2_000_000);
    let slow = true;
    const closed = Promise.withResolvers<void>();
    const answer = gatewayWith(bytes);
    const stalling = gatewayWith(bytes, { breakAt: 100_000, stall: true });
    const gateway = await serve((request, response) => {
      if (slow) response.once('close', () => closed.resolve());
      (slow ? stalling : answer)(request, response);
    });
    const { content } = contentOver({ gateways: [gateway.url], located, lingerMs: 1 });
    const described = await content.describe(id);
    assert.ok(described !== undefined);
    const leaving = new AbortController();
    const opened = await content.open(described, undefined, ownJourney, leaving.signal);
    const reading = (async () => {
      for await (const _piece of opened?.stream ?? []);
    })();
    leaving.abort(new Error('left'));
    await assert.rejects(reading, /left/);
    await closed.promise;
    slow = false;
    assert.deepEqual(await read(content, id), bytes);
  });

  test('may have no bytes at all, and has a type then too', async () => {
    const gateway = await serve((request, response) => {
      const head = { 'content-length': 0, 'content-type': 'text/css' };
      if (request.headers.range === undefined) response.writeHead(200, head).end();
      else response.writeHead(416, { 'content-range': 'bytes */0' }).end();
    });
    const { content } = contentOver({ gateways: [gateway.url] });
    const { id } = something(32);
    assert.equal((await read(content, id))?.length, 0);
    const { size, contentType } = await content.describe(id);
    assert.deepEqual([size, contentType], [0, 'text/css']);
  });
});

test('content that nobody has hashed is read once for all who ask for its hash', async () => {
  const { id, bytes, located } = something(300_000);
  const gateway = await serve(gatewayWith(bytes));
  const unread = { ...located, hash: undefined };
  const { content } = contentOver({ gateways: [gateway.url], located: unread, maxCachedBytes: 1_000 });
  const hashes = await Promise.all(Array.from({ length: 5 }, () => content.hashOf(id, ownJourney)));
  assert.deepEqual(new Set(hashes), new Set([located.hash]));
  assert.equal(gateway.asked.length, 1);
});
