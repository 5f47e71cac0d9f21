import assert from 'node:assert/strict';
import { request as httpRequest } from 'node:http';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Type } from 'typebox';
import { request } from 'undici';
import type { App } from '../http/server.ts';
import { PlainCounter } from '../metrics.ts';
import { rememberingLog, testServer } from '../testing.ts';
import { maxWaiting } from './export.ts';
import { formatTraceparent } from './outgoing.ts';
import { type CollectedSpan, type Collector, startCollector } from './testing.ts';
import { parseTraceparent } from './tracer.ts';
import { activeTracer, startTracing, traced } from './tracing.ts';

interface Setup {
  readonly collector: Collector;
  readonly counters: { readonly exported: PlainCounter; readonly dropped: PlainCounter };
  readonly lines: Record<string, unknown>[];
  /** Waits for so many spans, sends what is left, and answers all. */
  finish(count: number): Promise<CollectedSpan[]>;
}

async function collect(t: TestContext, ratio = 1, endpoint?: string): Promise<Setup> {
  const collector = await startCollector();
  const counters = { exported: new PlainCounter(), dropped: new PlainCounter() };
  const { log, lines } = rememberingLog();
  const tracing = await startTracing({
    endpoint: endpoint ?? collector.url,
    headers: { 'x-team': 'gateways' },
    serviceName: 'a gateway',
    serviceVersion: '1.2.3',
    ratio,
    log,
    counters,
    delayMs: 10,
  });
  t.after(async () => {
    await tracing.stop();
    await collector.stop();
  });
  return {
    collector,
    counters,
    lines,
    async finish(count) {
      const over = () => collector.spans.length >= count && counters.exported.value >= count;
      while (!over() && collector.faults.length === 0) await sleep(5);
      await tracing.stop();
      assert.deepEqual(collector.faults, []);
      return collector.spans;
    },
  };
}

async function serve(t: TestContext, routes: (app: App) => void) {
  const server = testServer();
  server.mount(routes);
  await server.listen();
  t.after(() => server.close());
  return server.url;
}

interface Asked {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

/** As somebody else asks: not through the client that is traced. */
function ask(url: string, { method = 'GET', headers = {}, body }: Asked = {}) {
  return new Promise<{ status: number; json: { traceparent?: string } }>((resolve, reject) => {
    const sent = httpRequest(url, { method, headers }, (answer) => {
      const pieces: Buffer[] = [];
      answer.on('data', (piece: Buffer) => pieces.push(piece));
      answer.on('end', () =>
        resolve({ status: answer.statusCode ?? 0, json: JSON.parse(Buffer.concat(pieces).toString()) }),
      );
    });
    sent.on('error', reject).end(body);
  });
}

const named = (spans: readonly CollectedSpan[], name: string): CollectedSpan => {
  const found = spans.filter((span) => span.name === name);
  assert.equal(found.length, 1, `${found.length} spans named ${name}`);
  return found[0] as CollectedSpan;
};

describe('tracing', () => {
  it('is not there while nobody collects', async (t) => {
    assert.equal(activeTracer(), undefined);
    const url = await serve(t, (app) => {
      app.get('/header', async () => {
        const answer = await request(`${url}/echo`);
        return answer.body.json();
      });
      app.get('/echo', async (request) => ({ traceparent: request.headers.traceparent ?? null }));
    });
    assert.deepEqual((await ask(`${url}/header`)).json, { traceparent: null });
    const result = {};
    assert.equal(
      traced(
        'x',
        () => assert.fail('nothing is described'),
        () => result,
      ),
      result,
    );
  });

  it('records requests, the work inside them and what they ask of others as one trace', async (t) => {
    const setup = await collect(t);
    const url = await serve(t, (app) => {
      app.post('/outer/:id', { schema: { body: Type.Object({ a: Type.Number() }) } }, async () =>
        traced(
          'work',
          () => ({ 'test.number': 7, 'test.share': 0.5, 'test.text': 'x', 'test.truth': true }),
          async () => {
            await sleep(5);
            const answer = await request(`${url}/inner?secret=1`);
            return answer.body.json();
          },
        ),
      );
      app.get('/inner', async (request) => ({ traceparent: request.headers.traceparent }));
    });
    const parent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    const { json } = await ask(`${url}/outer/5?token=hidden`, {
      method: 'POST',
      headers: { traceparent: parent, 'content-type': 'application/json' },
      body: '{"a":1}',
    });
    const spans = await setup.finish(4);
    const outer = named(spans, 'POST /outer/:id');
    const work = named(spans, 'work');
    const sent = named(spans, 'GET');
    const inner = named(spans, 'GET /inner');
    assert.deepEqual(
      [outer.parentSpanId, work.parentSpanId, sent.parentSpanId, inner.parentSpanId],
      ['00f067aa0ba902b7', outer.spanId, work.spanId, sent.spanId],
    );
    for (const span of spans) assert.equal(span.traceId, '4bf92f3577b34da6a3ce929d0e0e4736');
    assert.equal(spans.length, 4, 'the sending of spans is no span');
    assert.equal(json.traceparent, `00-${sent.traceId}-${sent.spanId}-01`);
    assert.deepEqual([outer.kind, work.kind, sent.kind, inner.kind], [2, 1, 3, 2]);
    // Each span reads the clock for itself, to the millisecond.
    const tick = 2_000_000n;
    assert.ok(work.end - work.start >= tick, 'the work took its time');
    assert.ok(outer.end + tick >= work.end && outer.start <= work.start + tick, 'within the request');
    const { attributes } = outer;
    assert.deepEqual(
      [
        attributes['http.request.method'],
        attributes['http.route'],
        attributes['http.response.status_code'],
        attributes['url.path'],
        attributes['url.scheme'],
      ],
      ['POST', '/outer/:id', 200n, '/outer/5', 'http'],
    );
    assert.deepEqual(
      ['test.number', 'test.share', 'test.text', 'test.truth'].map((key) => work.attributes[key]),
      [7n, 0.5, 'x', true],
    );
    assert.deepEqual(
      [
        sent.attributes['url.full'],
        sent.attributes['http.response.status_code'],
        sent.attributes['server.port'],
      ],
      [`${url}/inner`, 200n, BigInt(new URL(url).port)],
    );
    assert.equal(
      JSON.stringify(spans, (_, v) => (typeof v === 'bigint' ? String(v) : v)).includes('hidden'),
      false,
    );
    assert.deepEqual(
      [outer.resource['service.name'], outer.resource['service.version']],
      ['a gateway', '1.2.3'],
    );
    assert.equal(setup.collector.headers[0]?.['x-team'], 'gateways');
    assert.equal(setup.counters.exported.value, 4);
  });

  it('tells failures: of an answer, of work, of a request that we sent', async (t) => {
    const setup = await collect(t);
    const url = await serve(t, (app) => {
      app.get('/broken', async () => {
        await traced(
          'fails',
          () => ({}),
          async () => {
            throw new RangeError('too far');
          },
        );
      });
      app.get('/asks', async () => {
        await request('http://127.0.0.1:1/').catch(() => undefined);
        return {};
      });
    });
    assert.equal((await ask(`${url}/broken`)).status, 500);
    assert.equal((await ask(`${url}/asks`)).status, 200);
    const spans = await setup.finish(4);
    const broken = named(spans, 'GET /broken');
    assert.deepEqual([broken.error, broken.attributes['error.type']], ['answered 500', '500']);
    const fails = named(spans, 'fails');
    assert.deepEqual([fails.error, fails.attributes['error.type']], ['too far', 'RangeError']);
    assert.match(named(spans, 'GET').error ?? '', /ECONNREFUSED/);
    assert.equal(named(spans, 'GET /asks').error, undefined);
  });

  it('records the asked share, and follows the decision that a request brings', async (t) => {
    const setup = await collect(t, 0);
    const url = await serve(t, (app) => {
      app.get('/', async () => {
        const answer = await request(`${url}/echo`);
        return answer.body.json();
      });
      app.get('/echo', async (request) => ({ traceparent: request.headers.traceparent }));
    });
    const { traceparent = '' } = (await ask(url)).json;
    assert.match(traceparent, /^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/, 'others are told that it is not recorded');
    const recorded = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    await ask(url, { headers: { traceparent: recorded } });
    const spans = await setup.finish(3);
    assert.deepEqual([...new Set(spans.map(({ traceId }) => traceId))], ['4bf92f3577b34da6a3ce929d0e0e4736']);
    assert.equal(spans.length, 3);
  });

  it('never holds up a request, bounds what waits and counts what is lost', async (t) => {
    const setup = await collect(t, 1, 'http://127.0.0.1:1');
    for (let at = 0; at < maxWaiting + 600; at += 1)
      traced(
        'x',
        () => ({}),
        () => at,
      );
    const url = await serve(t, (app) => {
      app.get('/', async () => ({}));
    });
    assert.equal((await ask(url)).status, 200);
    await setup.finish(0);
    assert.equal(setup.counters.exported.value, 0);
    assert.equal(setup.counters.dropped.value, maxWaiting + 600 + 1);
    assert.equal(setup.lines.filter(({ msg }) => msg === 'traces could not be sent').length, 1);
  });

  it('sends again what a busy collector refused', async (t) => {
    const setup = await collect(t);
    setup.collector.answer = 503;
    traced(
      'x',
      () => ({}),
      () => 1,
    );
    const finishing = setup.finish(1);
    while (setup.collector.headers.length === 0) await sleep(5);
    setup.collector.answer = 200;
    assert.deepEqual(
      (await finishing).map(({ name }) => name),
      ['x'],
    );
    assert.deepEqual([setup.counters.exported.value, setup.counters.dropped.value], [1, 0]);
    assert.ok(setup.collector.headers.length >= 2);
  });
});

describe('traceparent', () => {
  const good = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
  it('is read and written as the standard says', () => {
    const read = parseTraceparent(good);
    assert.deepEqual(read, {
      traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
      spanId: '00f067aa0ba902b7',
      traceFlags: 1,
      isRemote: true,
    });
    assert.ok(read && formatTraceparent(read) === good);
    assert.equal(parseTraceparent(`cc${good.slice(2)}-later`)?.traceFlags, 1);
    for (const bad of [
      undefined,
      '',
      `${good}-more`,
      `ff${good.slice(2)}`,
      good.toUpperCase(),
      good.replace('4bf92f3577b34da6a3ce929d0e0e4736', '0'.repeat(32)),
      good.replace('00f067aa0ba902b7', '0'.repeat(16)),
      [good, good],
    ]) {
      assert.equal(parseTraceparent(bad), undefined, String(bad));
    }
  });
});
