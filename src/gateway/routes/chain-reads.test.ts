import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  engines,
  type LocalStack,
  makeTransaction,
  send,
  startLocalStack,
  text,
  until,
} from '../../../test/support/local-gateway.ts';

for (const engine of engines)
  describe(`chain reads (${engine.name})`, () => {
    let stack: LocalStack;
    /** What chain reads ask of nodes. */
    const asked: string[] = [];
    before(async () => {
      stack = await startLocalStack(engine.options);
      const { nodes } = stack.inside;
      const ask = nodes.get.bind(nodes);
      nodes.get = (path, options) => {
        asked.push(path);
        return ask(path, options);
      };
    });
    after(() => stack.stop());

    const read = async (path: string, init?: RequestInit) => {
      const answer = await fetch(`${stack.gateway.url}${path}`, init);
      return { status: answer.status, body: await answer.text(), headers: answer.headers };
    };
    const unknown = 'A'.repeat(43);
    /** Nodes know a block before the index does. */
    const indexed = (id: string) =>
      until('the transaction is indexed', async () => {
        const query = `{ transaction(id: "${id}") { block { height } } }`;
        return JSON.parse(await send(`${stack.gateway.url}/graphql`, { query })).data.transaction?.block;
      });

    test('text answers are bare, and records have the fields of the contract', async () => {
      await text(`${stack.node.url}/mine/7`);
      const { transaction, post } = await makeTransaction(stack.node.url, Buffer.from('hello'));
      await post(stack.gateway.url);
      const id = transaction.id.toString('base64url');
      assert.deepEqual([(await read(`/tx/${id}`)).status, (await read(`/tx/${id}`)).body], [202, 'Pending']);
      assert.equal((await read(`/tx/${id}/status`)).status, 202);
      assert.deepEqual(JSON.parse((await read('/tx/pending')).body), [id]);
      await text(`${stack.node.url}/mine`);
      await indexed(id);

      assert.match((await read('/height')).body, /^[0-9]+$/);
      assert.match((await read('/tx_anchor')).body, /^[A-Za-z0-9_-]{64}$/);
      assert.match((await read('/price/1000')).body, /^[0-9]+$/);
      const plain = BigInt((await read('/price/1000')).body);
      assert.ok(BigInt((await read('/price/12345678901234567')).body) > 10n ** 7n * plain);
      assert.ok(BigInt((await read('/price/1000/target')).body) > plain);
      assert.match((await read(`/wallet/${unknown}/balance`)).body, /^0$/);
      assert.equal((await read(`/wallet/${unknown}/last_tx`)).body, '');
      assert.ok(Array.isArray(JSON.parse((await read('/peers')).body)));

      const info = JSON.parse((await read('/info')).body);
      for (const field of [
        'network',
        'version',
        'release',
        'current',
        'blocks',
        'peers',
        'queue_length',
        'height',
      ]) {
        assert.ok(field in info, field);
      }
      const block = JSON.parse((await read('/block/current')).body);
      assert.deepEqual(JSON.parse((await read('/current_block')).body), block);
      assert.deepEqual(JSON.parse((await read(`/block/height/${block.height}`)).body), block);
      assert.deepEqual(JSON.parse((await read(`/block/hash/${block.indep_hash}`)).body), block);
      assert.ok(block.txs.includes(id));

      const status = JSON.parse((await read(`/tx/${id}/status`)).body);
      assert.deepEqual(status, {
        block_height: block.height,
        block_indep_hash: block.indep_hash,
        number_of_confirmations: 1,
      });
      const record = JSON.parse((await read(`/tx/${id}`)).body);
      assert.deepEqual(record, JSON.parse(await text(`${stack.node.url}/tx/${id}`)));
      assert.equal(JSON.parse((await read(`/tx/${id}/offset`)).body).size, '5');
      assert.equal((await read(`/tx/${id}/data_root`)).body, record.data_root);
      assert.equal((await read(`/tx/${id}/data`)).body, Buffer.from('hello').toString('base64url'));
      assert.deepEqual(JSON.parse((await read(`/tx/${id}/tags`)).body), []);
    });

    test('the newest block is asked of no node where the index has it', async () => {
      const { current } = JSON.parse(await text(`${stack.node.url}/info`));
      await until('it is imported', async () => {
        asked.splice(0);
        const byHash = JSON.parse((await read(`/block/hash/${current}`)).body);
        const newest = JSON.parse((await read('/block/current')).body);
        const isAsked = asked.some((path) => path === '/block/current' || path.startsWith('/block/hash'));
        return byHash.indep_hash === current && newest.indep_hash === current && !isAsked;
      });
      for (let time = 0; time < 3; time += 1) {
        assert.equal(JSON.parse((await read('/block/current')).body).indep_hash, current);
      }
      assert.ok(!asked.includes('/block/current'));
    });

    test('an address that no key has owns nothing', async () => {
      const nobody = '43CharArweaveStubAddress1234567890123456789';
      assert.equal((await read(`/wallet/${nobody}/balance`)).body, '0');
      assert.deepEqual(
        [(await read(`/wallet/${nobody}/last_tx`)).status, (await read(`/wallet/${nobody}/last_tx`)).body],
        [200, ''],
      );
      assert.equal((await read(`/price/10/${nobody}`)).body, (await read('/price/10/target')).body);
    });

    test('what is wrong or absent is said in the words of a node', async () => {
      const expected: [string, number, string][] = [
        ['/tx/short', 400, 'Invalid hash.'],
        [`/tx/${'A'.repeat(42)}B`, 400, 'Invalid hash.'],
        [`/tx/${unknown}`, 404, 'Not Found.'],
        [`/tx/${unknown}/status`, 404, 'Not Found.'],
        ['/tx/short/status', 400, 'Invalid address.'],
        ['/tx/short/offset', 400, '{"error":"invalid_address"}'],
        [`/tx/${unknown}/offset`, 404, ''],
        [`/tx/${unknown}/..%2F..%2Finfo`, 400, '{"error":"invalid_field"}'],
        ['/block/height/-1', 400, 'Invalid height.'],
        ['/block/height/1e3', 400, 'Invalid height.'],
        ['/block/height/999999', 404, 'Block not found.'],
        ['/block/height/99999999999999999999', 404, 'Block not found.'],
        ['/block/hash/xyz', 400, 'Invalid hash.'],
        [`/block/hash/${'A'.repeat(64)}`, 404, 'Block not found.'],
        ['/price/1e3', 400, '{"error":"size_must_be_an_integer"}'],
        [`/price/${'9'.repeat(79)}`, 400, '{"error":"size_is_too_large"}'],
        ['/price/10/nobody', 400, 'Invalid address.'],
        ['/wallet/x/balance', 400, 'Invalid address.'],
      ];
      for (const [path, status, body] of expected) {
        const answer = await read(path);
        assert.deepEqual([path, answer.status, answer.body], [path, status, body]);
        assert.equal(answer.headers.get('cache-control'), 'no-store', path);
        assert.equal(answer.headers.get('access-control-allow-origin'), '*');
      }
      const posted = await read('/tx', { method: 'POST', body: '{' });
      assert.deepEqual([posted.status, posted.body], [400, 'Invalid JSON.']);
      const large = await read('/chunk', { method: 'POST', body: 'x'.repeat(800_000) });
      assert.deepEqual([large.status, large.body], [413, 'Payload too large']);
    });

    test('what a node gives out of a transaction’s data is no page of the gateway’s', async () => {
      const tags = [{ name: 'Content-Type', value: 'text/html' }];
      const made = await makeTransaction(stack.node.url, Buffer.from('<script>steal()</script>'), tags);
      await made.post(stack.gateway.url);
      await text(`${stack.node.url}/mine`);
      const answer = await read(`/tx/${made.transaction.id.toString('base64url')}/data.html`);
      assert.deepEqual([answer.status, answer.headers.get('content-type')], [200, 'text/html']);
      assert.match(answer.headers.get('content-security-policy') ?? '', /^sandbox (?!.*allow-same-origin)/);
      assert.equal(answer.headers.get('x-content-type-options'), 'nosniff');
    });

    test('chunks come with their proofs, or as bytes with where they belong', async () => {
      const data = Buffer.alloc(300_000, 'chunk');
      const { transaction, post } = await makeTransaction(stack.node.url, data);
      await post(stack.gateway.url);
      await text(`${stack.node.url}/mine`);
      const id = transaction.id.toString('base64url');
      const { offset, size } = JSON.parse((await read(`/tx/${id}/offset`)).body);
      const start = Number(offset) - Number(size) + 1;
      const chunk = JSON.parse((await read(`/chunk/${start}`)).body);
      assert.deepEqual(Buffer.from(chunk.chunk, 'base64url'), data.subarray(0, 262_144));
      assert.equal(chunk.packing, 'unpacked');
      await indexed(id);
      const answer = await fetch(`${stack.gateway.url}/chunk/${start + 270_000}/data`);
      assert.deepEqual(Buffer.from(await answer.arrayBuffer()), data.subarray(262_144));
      const header = (name: string) => answer.headers.get(name);
      assert.equal(header('x-arweave-chunk-data-root'), transaction.dataRoot.toString('base64url'));
      assert.equal(header('x-content-type-options'), 'nosniff');
      assert.equal(header('x-arweave-chunk-relative-start-offset'), '262144');
      assert.equal(header('x-arweave-chunk-start-offset'), String(start + 262_144));
      assert.equal(header('x-arweave-chunk-read-offset'), String(270_000 - 262_144));
      assert.equal(header('x-arweave-chunk-tx-id'), id);
      assert.equal(header('x-arweave-chunk-tx-start-offset'), String(start));

      assert.deepEqual(
        [(await read('/chunk/x')).body, (await read('/chunk/x')).status],
        ['{"error":"invalid_offset"}', 400],
      );
      assert.equal((await read('/chunk/-1')).body, '{"error":"offset_out_of_bounds"}');
      assert.deepEqual(
        [(await read('/chunk/999999999')).status, (await read('/chunk/999999999')).body],
        [404, ''],
      );
      await send(`${stack.node.url}/faults`, { wrongChunks: true, path: '/chunk/' });
      try {
        assert.equal((await read(`/chunk/${start}`)).status, 502);
      } finally {
        await fetch(`${stack.node.url}/faults`, { method: 'DELETE' });
      }
    });

    test('an outage of the nodes is never told as absence', async () => {
      await send(`${stack.node.url}/faults`, { status: 500 });
      try {
        assert.equal((await read(`/tx/${unknown}`)).status, 502);
        assert.equal((await read('/price/10')).status, 502);
        assert.equal((await read('/tx/pending')).status, 502);
        await send(`${stack.node.url}/faults`, { status: 503 });
        const down = await read(`/tx/${unknown}`);
        assert.deepEqual([down.status, down.headers.get('retry-after')], [503, '5']);
      } finally {
        await fetch(`${stack.node.url}/faults`, { method: 'DELETE' });
      }
    });

    test('the gateway says what it is, how it is and whom it asks, under both names', async () => {
      for (const prefix of ['/gw', '/ar-io']) {
        const info = JSON.parse((await read(`${prefix}/info`)).body);
        assert.deepEqual(info, {
          wallet: '',
          processId: '',
          ans104UnbundleFilter: { always: true },
          ans104IndexFilter: { always: true },
          supportedManifestVersions: ['0.1.0', '0.2.0'],
          release: 'test',
        });
        const health = await read(`${prefix}/healthcheck`);
        assert.equal(health.headers.get('cache-control'), 'no-store');
        assert.deepEqual(Object.keys(JSON.parse(health.body)), ['status', 'uptime', 'date', 'reasons']);
        const peers = JSON.parse((await read(`${prefix}/peers`)).body);
        // Without others it names itself, where it was reached.
        const { origin, host } = new URL(stack.gateway.url);
        assert.deepEqual(peers.gateways, { [host]: { url: origin, dataWeight: 50, chunkWeight: 50 } });
        assert.deepEqual(Object.keys(peers.arweaveNodes), [new URL(stack.node.url).host]);
        const metrics = await read(`${prefix}/__gateway_metrics`);
        assert.match(metrics.headers.get('content-type') ?? '', /^text\/plain; version=0\.0\.4/);
      }
      assert.deepEqual(JSON.parse((await read('/')).body), JSON.parse((await read('/gw/info')).body));
    });

    test('GraphQL answers by POST and by URL, and shows a page to people', async () => {
      const query = '{ blocks(first: 1) { edges { cursor } } }';
      const post = (body: string, type = 'application/json') =>
        read('/graphql', { method: 'POST', headers: { 'content-type': type }, body });
      assert.deepEqual((await post(JSON.stringify({ query }))).status, 200);
      assert.equal((await read(`/graphql?query=${encodeURIComponent(query)}`)).status, 200);
      const batch = JSON.parse((await post(JSON.stringify([{ query }, { query }]))).body);
      assert.equal(batch.length, 2);
      const page = { query: '{ transactions(first: 1000) { edges { cursor } } }' };
      const large = JSON.parse((await post(JSON.stringify([page, page, page]))).body);
      assert.deepEqual(
        large.map((answer: { errors?: { message: string }[] }) => answer.errors?.[0]?.message),
        [undefined, undefined, 'a request may ask for 2000 rows in all'],
        'the operations of a batch share what a request may ask for',
      );
      const refused: string[] = [
        '',
        '{',
        '[]',
        'null',
        '5',
        '{}',
        '{"query":1}',
        '{"query":"{a}","variables":[]}',
      ];
      refused.push(JSON.stringify(Array.from({ length: 11 }, () => ({ query }))));
      for (const body of refused) {
        const answer = await post(body);
        assert.deepEqual([body.slice(0, 40), answer.status], [body.slice(0, 40), 400]);
        assert.equal(JSON.parse(answer.body).errors[0].extensions.code, 'BAD_REQUEST');
      }
      for (const type of ['application/json', 'text/plain', 'application/x-odd']) {
        const headers = { 'content-type': type };
        for (const method of ['PUT', 'PATCH', 'DELETE']) {
          const refused = await read('/graphql', { method, headers, body: '{' });
          assert.deepEqual([refused.status, refused.headers.get('allow')], [405, 'GET, HEAD, POST, OPTIONS']);
        }
        if (type === 'application/json') continue;
        const told = await read('/graphql', { method: 'POST', headers, body: '{"query":"{__typename}"}' });
        assert.equal(told.status, 415);
        assert.match(told.body, /Send the query as application\/json/);
      }
      assert.equal((await read('/graphql', { method: 'DELETE' })).status, 405);
      const elsewhere = await read('/tx', { method: 'DELETE' });
      assert.deepEqual([elsewhere.status, elsewhere.headers.get('allow')], [405, 'GET, HEAD, POST, OPTIONS']);
      // The playground is at /graphql for whoever does not ask for something else.
      for (const accept of ['text/html', '*/*', 'text/*;q=0.5']) {
        const page = await read('/graphql', { headers: { accept } });
        assert.equal(page.headers.get('content-type'), 'text/html; charset=utf-8');
        assert.match(page.headers.get('content-security-policy') ?? '', /default-src 'none'/);
        assert.doesNotMatch(page.body, /https?:\/\//);
      }
      assert.equal((await read('/graphql', { headers: { accept: 'application/json' } })).status, 400);
    });
  });
