/** What an operator is told, made to happen: every reason, warning and error fires, every figure moves. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import {
  type AdminGateway,
  type AdminGatewayOptions,
  makeItem,
  postBundle,
  startAdminGateway,
} from '../../../test/support/admin-gateway.ts';
import { makeTransaction, send, text, until } from '../../../test/support/local-gateway.ts';
import { lintExposition } from '../../../test/support/metrics-lint.ts';

interface Health {
  readonly status: string;
  readonly reasons: string[];
}

async function open(t: TestContext, options: AdminGatewayOptions = {}): Promise<AdminGateway> {
  const gateway = await startAdminGateway(options);
  t.after(() => gateway.stop());
  return gateway;
}
const health = async (gateway: AdminGateway): Promise<Health> =>
  JSON.parse((await gateway.get('/gw/healthcheck')).body);
const debug = async (gateway: AdminGateway) =>
  ((await gateway.call('GET', 'debug')).body as { db: { errors: string[]; warnings: string[] } }).db;

describe('health', () => {
  it('is good in the beginning, and never cached', async (t) => {
    const gateway = await open(t);
    assert.deepEqual((await health(gateway)).reasons, []);
    const answer = await gateway.get('/gw/healthcheck');
    assert.equal(answer.headers.get('cache-control'), 'no-store');
    assert.deepEqual(await debug(gateway).then(({ errors, warnings }) => [errors, warnings]), [[], []]);
  });

  it('says that no node answers, and so does debug', async (t) => {
    const gateway = await open(t, { nodeUrls: () => ['http://127.0.0.1:1'] });
    await until('it is noticed', async () => (await health(gateway)).reasons.includes('No node answers.'));
    assert.equal((await health(gateway)).status, 'unhealthy');
    assert.ok((await debug(gateway)).errors.includes('No node answers.'));
    assert.equal((await gateway.get('/gw/healthcheck')).status, 200);
    assert.equal((await gateway.get('/gw/healthcheck?strict=true')).status, 503);
  });

  it('says that data items stay away', async (t) => {
    const gateway = await open(t, { overrides: { MAX_EXPECTED_DATA_ITEM_INDEXING_INTERVAL_SECONDS: '0' } });
    await until('it is noticed', async () =>
      (await health(gateway)).reasons.includes('Last data item indexed more than 0 seconds ago.'),
    );
  });

  it('says that the disk is nearly full', async (t) => {
    const gateway = await open(t, { overrides: { HEALTHCHECK_MIN_FREE_BYTES: String(2 ** 52) } });
    const { reasons } = await health(gateway);
    assert.match(reasons.join(), /^The disk of DATA_DIR has [0-9]+ MiB left\.$/);
    assert.match((await debug(gateway)).errors.join(), /MiB left/);
  });

  it('says that the database does not take writes, until it does', async (t) => {
    const gateway = await open(t);
    const { sql } = gateway.inside.index;
    await sql.run('ALTER TABLE operator_jobs RENAME TO elsewhere');
    const reason = 'The database does not take writes.';
    await until('it is noticed', async () => (await health(gateway)).reasons.includes(reason));
    assert.ok((await debug(gateway)).errors.includes(reason));
    await sql.run('ALTER TABLE elsewhere RENAME TO operator_jobs');
    await until('it is well', async () => (await health(gateway)).status === 'ok');
  });

  it('says that the import fails, how far it is behind, and which bundles failed', async (t) => {
    const gateway = await open(t);
    const { sql } = gateway.inside.index;
    await postBundle(gateway.stack, [await makeItem({ data: Buffer.from('x') })]);
    await until('it is read', async () =>
      sql.get('SELECT id FROM bundles WHERE last_fully_indexed_at IS NOT NULL'),
    );
    await sql.run("UPDATE bundles SET state = 'failed'");
    await sql.run('ALTER TABLE block_bodies RENAME TO elsewhere');
    await text(`${gateway.stack.node.url}/mine/20`);
    await until('the failure is told', async () =>
      /^Import failed: /.test((await health(gateway)).reasons.join()),
    );
    const { height } = JSON.parse(await text(`${gateway.stack.node.url}/info`));
    const behind = height - gateway.inside.index.height;
    assert.ok(behind >= 19, `${behind} blocks behind`);
    // The head that the gateway knows may be one from the midst of the mining, until it asks again.
    await until('the lag is told', async () =>
      (await debug(gateway)).warnings.includes(`The import is ${behind} blocks behind the chain.`),
    );
    assert.ok(
      (await debug(gateway)).warnings.includes('1 bundles could not be read and wait for an operator.'),
    );
    const { body } = await gateway.get('/gw/__gateway_metrics');
    assert.match(body, new RegExp(`^chain_import_lag_blocks ${behind}$`, 'm'));
    assert.match(body, /^block_import_errors_total [1-9]/m);
    await sql.run('ALTER TABLE elsewhere RENAME TO block_bodies');
    await until('it caught up', async () => (await health(gateway)).status === 'ok');
  });
});

describe('metrics', () => {
  let gateway: AdminGateway;
  before(async () => {
    gateway = await startAdminGateway({
      overrides: {
        ENABLE_RATE_LIMITER: 'true',
        RATE_LIMITER_IP_TOKENS_PER_BUCKET: '30',
        RATE_LIMITER_IP_REFILL_PER_SEC: '0',
        HTTPSIG_ENABLED: 'true',
        TRUSTED_GATEWAYS_URLS: 'http://127.0.0.1:1',
      },
    });
  });
  after(() => gateway.stop());

  /** Value of every sample, by its name and labels. */
  async function scrape(): Promise<Map<string, number>> {
    const { body, headers } = await gateway.get('/gw/__gateway_metrics');
    assert.deepEqual(lintExposition(body), []);
    assert.match(headers.get('content-type') ?? '', /^text\/plain; version=0\.0\.4/);
    const samples = new Map<string, number>();
    for (const line of body.split('\n')) {
      const [, name, value] = /^([a-zA-Z_:][^ ]*(?:\{.*\})?) ([^ ]+)$/.exec(line) ?? [];
      if (name !== undefined && !line.startsWith('#')) samples.set(name, Number(value));
    }
    return samples;
  }

  it('move with requests, cache, sources, import, unbundling, queues and the meter', async () => {
    const first = await scrape();
    const bundle = await postBundle(gateway.stack, [
      await makeItem({ data: Buffer.from('one') }),
      await makeItem({ data: Buffer.from('two') }),
    ]);
    const made = await makeTransaction(gateway.stack.node.url, Buffer.alloc(10 * 1024, 'x'));
    await made.post();
    await text(`${gateway.stack.node.url}/mine`);
    const id = made.transaction.id.toString('base64url');
    await until('all is read', async () => {
      const { body } = await gateway.call('GET', `bundle-status/${bundle}`);
      const found = body as { lastFullyIndexedAt?: number };
      return typeof found.lastFullyIndexedAt === 'number' && (await gateway.inside.index.locate(id))?.height;
    });
    await until('it is cached', async () => {
      const answer = await gateway.get(`/raw/${id}`, { range: 'bytes=0-9' });
      await gateway.get(`/raw/${id}`);
      return answer.headers.get('x-cache') === 'HIT';
    });
    while ((await gateway.get(`/raw/${id}`)).status === 200);
    await gateway.get(`/raw/${'A'.repeat(43)}`);
    await send(`${gateway.url}/graphql`, { query: '{ transactions(first: 1) { edges { node { id } } } }' });
    await gateway.call('PUT', 'block-data', { id: 'B'.repeat(42).concat('A') });
    const moved = (last: Map<string, number>, name: string, labels: string) => {
      const sum = (samples: Map<string, number>) =>
        [...samples].reduce(
          (total, [key, value]) =>
            (key === name || key.startsWith(`${name}{`)) && key.includes(labels) ? total + value : total,
          0,
        );
      return sum(last) - sum(first);
    };
    for (const [name, labels] of [
      ['http_request_duration_seconds_count', 'route="/raw/:id",method="GET",status="200"'],
      ['http_request_duration_seconds_count', 'status="429"'],
      ['http_request_duration_seconds_sum', 'route="/raw/:id"'],
      ['contiguous_data_cache_hit_total', ''],
      ['contiguous_data_cache_miss_total', ''],
      ['cache_size_bytes', ''],
      ['cache_objects', ''],
      ['cache_objects_total', ''],
      ['get_data_stream_successes_total', 'source="chunks"'],
      ['get_data_errors_total', 'source="gateways"'],
      ['blocks_imported_total', ''],
      ['block_transactions_imported_total', ''],
      ['last_height_imported', ''],
      ['bundles_queued_total', ''],
      ['bundles_unbundled_total', ''],
      ['data_items_unbundled_total', ''],
      ['data_items_indexed_total', ''],
      ['data_item_bytes_indexed_total', ''],
      ['graphql_requests_total', ''],
      ['rate_limit_requests_total', ''],
      ['rate_limit_tokens_consumed_total', ''],
      ['rate_limit_bytes_blocked_total', ''],
      ['rate_limit_exceeded_total', 'limit_type="ip"'],
      ['rate_limit_clients', ''],
      ['httpsig_signed_total', ''],
      ['process_cpu_user_seconds_total', ''],
    ] as const) {
      // Some move after the work is done.
      await until(`${name}{${labels}} moves`, async () => moved(await scrape(), name, labels) > 0);
    }
    // Queues are counted now and then: what was counted last may be from before.
    const last = await until('the queue is counted', async () => {
      const samples = await scrape();
      return samples.get('operator_queue_length{queue_name="bundles"}') === 0 && samples;
    });
    assert.equal(last.get('arweave_nodes_healthy'), 1);
    assert.ok(
      [...last.keys()].every((key) => !key.includes(id)),
      'no id is a label',
    );
  });

  it('are all that the dashboard and the operator’s guide name, with their labels', async () => {
    const { body } = await gateway.get('/gw/__gateway_metrics');
    const known = new Set<string>();
    const labels = new Map<string, Set<string>>();
    for (const [, name = '', type] of body.matchAll(/^# TYPE ([^ ]+) ([a-z]+)$/gm)) {
      const suffixes = type === 'histogram' || type === 'summary' ? ['_bucket', '_sum', '_count'] : [''];
      for (const suffix of suffixes) known.add(`${name}${suffix}`);
    }
    for (const [, name = '', inside = ''] of body.matchAll(/^([a-zA-Z_:][a-zA-Z0-9_:]*)\{(.*)\} /gm)) {
      const found = labels.get(name) ?? new Set();
      for (const [, label = ''] of inside.matchAll(/([a-zA-Z_]+)="/g)) found.add(label);
      labels.set(name, found);
    }
    const docs = resolve(import.meta.dirname, '../../../docs');
    const dashboard: unknown = JSON.parse(
      readFileSync(`${docs}/../deploy/grafana/turnpike-gateway.json`, 'utf8'),
    );
    const texts = textsNamed(dashboard, 'expr');
    assert.ok(texts.length > 20);
    const words = new Set(['by', 'le', 'sum', 'rate', 'increase', 'histogram_quantile', 'job']);
    for (const query of texts) {
      const bare = query.replace(/"[^"]*"/g, '""').replace(/\[[0-9a-z]+\]/g, '');
      const grouped = [...bare.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(/,\s*/));
      const selected = [...bare.matchAll(/([a-zA-Z_]+)\s*(?:=~|!~|!=|=)/g)].map(([, label = '']) => label);
      const asked = [...grouped, ...selected].filter((label) => label !== 'job');
      const names = [...bare.matchAll(/[a-zA-Z_][a-zA-Z0-9_]*/g)]
        .map(([name]) => name)
        .filter((name) => !words.has(name) && !asked.includes(name));
      assert.ok(names.length > 0, query);
      for (const name of names) {
        assert.ok(known.has(name), `${name} of "${query}" is a metric`);
        for (const label of asked) {
          const has = labels.get(name);
          if (has !== undefined) assert.ok(has.has(label), `${name} has the label ${label}`);
        }
      }
    }
    const guide = readFileSync(`${docs}/operations.md`, 'utf8');
    const table = guide.slice(guide.indexOf('## Watch it'));
    const named = [...table.matchAll(/^\| (.*?) \|/gm)].flatMap(([, cell = '']) =>
      [...cell.matchAll(/`([a-z_]+)(?:\{([a-z,_]+)\})?`/g)].map(([, name = '', list]) => ({ name, list })),
    );
    assert.ok(named.length >= 7);
    // Of the other surfaces: their own tests know them.
    const others = /^(?:upload|ledger|card|payment|router)_/;
    for (const { name, list } of named.filter((one) => !others.test(one.name))) {
      const full = known.has(name) ? name : `${name}_count`;
      assert.ok(known.has(full), `${name} of the guide is a metric`);
      for (const label of list?.split(',') ?? []) {
        assert.ok(labels.get(full)?.has(label) ?? true, `${name} has the label ${label}`);
      }
    }
  });
});

function textsNamed(value: unknown, name: string): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    key === name && typeof inner === 'string' ? [inner] : textsNamed(inner, name),
  );
}
