import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createLogger } from '../../kernel/log.ts';
import { forEachEngine } from '../../storage/sql/testing.ts';
import { insertBlock } from '../chain-index/blocks.ts';
import { migrations } from '../chain-index/migrations.ts';
import { SqlGatewayIndex } from '../chain-index/sql-index.ts';
import { digest, entry, header, rawTags } from '../chain-index/testing.ts';
import { GraphqlService } from './execute.ts';

const log = createLogger({ name: 'test', level: 'silent', format: 'json' });

forEachEngine((_engine, open) => {
  async function fresh() {
    const index = new SqlGatewayIndex(await open(migrations), () => 1_700_000_000);
    const service = new GraphqlService(index, log);
    const prepared = await index.writer.prepare([
      entry(
        header('a', {
          tags: rawTags([
            ['App', 'x'],
            ['App', 'y'],
            ['Content-Type', 'text/plain'],
          ]),
          target: digest('someone'),
          quantity: '477648',
          reward: '1234567890123456',
          dataSize: 5,
        }),
        { height: 0, blockIndex: 0 },
      ),
      entry(header('pending', { tags: rawTags({ App: 'z' }) })),
    ]);
    await index.sql.transaction(async (tx) => {
      await index.writer.put(tx, prepared);
      await insertBlock(tx, {
        height: 0,
        id: Buffer.alloc(48, 1),
        previous: Buffer.alloc(0),
        timestamp: 9,
        txCount: 1,
        blockSize: '5',
        weaveSize: '5',
        json: Buffer.from('{}'),
      });
    });
    await index.refresh();
    const ask = async (query: string, variables?: Record<string, unknown>) => {
      const answer = await service.answer({ query, variables, operationName: undefined });
      return { status: answer.status, ...JSON.parse(answer.body) };
    };
    return { index, service, ask };
  }

  it('answers every field of a transaction', async () => {
    const { ask } = await fresh();
    const id = digest('a').toString('base64url');
    const { data, errors } = await ask(
      `query($id: ID!) { transaction(id: $id) { id anchor signature signatureType recipient owner { address key }
        fee { winston ar } quantity { winston ar } data { size type } tags { name value }
        block { id timestamp height previous } parent { id } bundledIn { id } ingested_at } }`,
      { id },
    );
    assert.equal(errors, undefined);
    const key = Buffer.from('key of a');
    assert.deepEqual(data.transaction, {
      id,
      anchor: '',
      signature: Buffer.from('signature of a').toString('base64url'),
      signatureType: 1,
      recipient: digest('someone').toString('base64url'),
      owner: { address: digest('key of a').toString('base64url'), key: key.toString('base64url') },
      fee: { winston: '1234567890123456', ar: '1234.567890123456' },
      quantity: { winston: '477648', ar: '0.000000477648' },
      data: { size: '5', type: 'text/plain' },
      tags: [
        { name: 'App', value: 'x' },
        { name: 'App', value: 'y' },
        { name: 'Content-Type', value: 'text/plain' },
      ],
      block: { id: Buffer.alloc(48, 1).toString('base64url'), timestamp: 9, height: 0, previous: '' },
      parent: null,
      bundledIn: null,
      ingested_at: 1_700_000_000,
    });
  });

  it('shows what is not mined with a null block, first, and outside every range of heights', async () => {
    const { ask } = await fresh();
    const all = await ask('{ transactions { edges { node { block { height } } } count } }');
    assert.deepEqual(
      all.data.transactions.edges.map(({ node }: { node: { block: unknown } }) => node.block),
      [null, { height: 0 }],
    );
    assert.equal(all.data.transactions.count, '2');
    const ranged = await ask('{ transactions(block: { min: 0 }) { edges { node { id } } } }');
    assert.equal(ranged.data.transactions.edges.length, 1);
    const none = await ask('{ transactions(block: { max: -1 }) { edges { node { id } } } }');
    assert.equal(none.data.transactions.edges.length, 0);
  });

  it('follows cursors at height 0 and in the pending range', async () => {
    const { ask } = await fresh();
    const seen: string[] = [];
    for (let after = '', more = true; more; ) {
      const { data } = await ask(
        'query($after: String) { transactions(first: 1, after: $after) { pageInfo { hasNextPage } edges { cursor node { id } } } }',
        { after },
      );
      const edge = data.transactions.edges[0];
      seen.push(edge.node.id);
      after = edge.cursor;
      more = data.transactions.pageInfo.hasNextPage;
    }
    assert.deepEqual(
      seen,
      [digest('pending'), digest('a')].map((id) => id.toString('base64url')),
    );
  });

  it('matches tags exactly, by exclusion, by pattern and by words', async () => {
    const { ask } = await fresh();
    const count = async (tags: string) => {
      const { data, errors } = await ask(`{ transactions(tags: ${tags}) { edges { node { id } } } }`);
      return errors === undefined ? data.transactions.edges.length : errors[0].message;
    };
    assert.equal(await count('[{ name: "App", values: ["x", "z"] }]'), 2);
    assert.equal(await count('[{ name: "App", values: ["x"] }, { name: "App", values: ["y"] }]'), 1);
    assert.equal(await count('[{ name: "app", values: ["x"] }]'), 0);
    assert.equal(await count('[{ name: "App", values: ["x"], op: NEQ }]'), 1);
    assert.equal(await count('[{ name: "Never", values: ["x"], op: NEQ }]'), 2);
    assert.equal(await count('[{ name: "A*", values: ["?"], match: WILDCARD }]'), 2);
    assert.equal(await count('[{ name: "Content-Type", values: ["text/*"], match: WILDCARD }]'), 1);
    assert.equal(await count('[{ name: "Content-Type", values: ["PLAIN text"], match: FUZZY_AND }]'), 1);
    assert.equal(await count('[{ name: "Content-Type", values: ["html text"], match: FUZZY_AND }]'), 0);
    assert.equal(await count('[{ name: "Content-Type", values: ["html text"], match: FUZZY_OR }]'), 1);
    assert.equal(await count('[]'), 2);
  });

  it('refuses in the standard shape', async () => {
    const { ask, service } = await fresh();
    const code = async (query: string, variables?: Record<string, unknown>) => {
      const { status, errors, data } = await ask(query, variables);
      return [status, errors?.[0].extensions.code, data === undefined ? 'no data' : data];
    };
    assert.deepEqual(await code('{'), [400, 'GRAPHQL_PARSE_FAILED', 'no data']);
    assert.deepEqual(await code('{ nothing }'), [400, 'GRAPHQL_VALIDATION_FAILED', 'no data']);
    assert.deepEqual(await code('fragment x on Block { id }'), [400, 'GRAPHQL_VALIDATION_FAILED', 'no data']);
    assert.deepEqual(await code('query($f: Int!) { transactions(first: $f) { count } }', { f: 'x' }), [
      400,
      'BAD_USER_INPUT',
      'no data',
    ]);
    const page =
      'query($f: Int, $a: String) { transactions(first: $f, after: $a) { edges { node { id } } } }';
    for (const variables of [{ f: 0 }, { f: -1 }, { a: 'x' }, { a: 'WzFd' }, { a: 'W251bGxd' }]) {
      assert.deepEqual(await code(page, variables), [200, 'BAD_USER_INPUT', null]);
    }
    const { errors } = await ask(page, { a: 'x' });
    assert.deepEqual([errors[0].message, errors[0].path], ['Invalid transaction cursor', ['transactions']]);
    assert.deepEqual(errors[0].locations, [{ line: 1, column: 30 }]);
    const two = await service.answer({
      query: 'query A { block { id } } query B { blocks { edges { cursor } } }',
      variables: undefined,
      operationName: 'B',
    });
    assert.equal(two.status, 200);
  });

  it('bounds depth, fields, rows and text before doing the work', async () => {
    const { ask } = await fresh();
    const deep = `{ transactions { edges { node { ${'block { '.repeat(20)} id ${'} '.repeat(20)} } } } }`;
    const wide = `{ ${Array.from({ length: 501 }, (_, i) => `a${i}: block { id }`).join(' ')} }`;
    const spread = `{ ...a } ${[...'abcdefghijklmnop']
      .map(
        (name, i, all) =>
          `fragment ${name} on Query { ${i + 1 < all.length ? `...${all[i + 1]} ...${all[i + 1]}` : 'block { id }'} }`,
      )
      .join(' ')}`;
    const rows = `{ ${Array.from({ length: 3 }, (_, i) => `a${i}: transactions(first: 1000) { edges { cursor } }`).join(' ')} }`;
    for (const query of [deep, wide, spread, `{ block(id: "${'x'.repeat(300_000)}") { id } }`]) {
      const { status, errors } = await ask(query);
      assert.equal(status, 400);
      assert.equal(errors.length, 1);
    }
    assert.match((await ask(rows)).errors[0].message, /2000 rows/);
    const counts = (n: number) =>
      `{ ${Array.from({ length: n }, (_, i) => `a${i}: transactions(first: 1) { count }`).join(' ')} }`;
    assert.equal((await ask(counts(10))).errors, undefined);
    assert.match((await ask(counts(100))).errors[0].message, /2000 rows/);
  });

  it('answers a text that comes for the first, the second and the third time the same', async () => {
    const { service } = await fresh();
    const id = digest('a').toString('base64url');
    const fields =
      'id signature signatureType owner { address key } tags { name value } block { height id } ingested_at';
    const asked: [string, Record<string, unknown> | undefined][] = [
      [
        `{ transactions(first: 5) { count pageInfo { hasNextPage } edges { cursor node { ${fields} } } } }`,
        undefined,
      ],
      [`query($id: ID!) { transaction(id: $id) { ${fields} } none: block(id: "x") { id } }`, { id }],
      ['query($id: ID!) { transaction(id: $id) { id } }', {}],
      ['query($f: Int) { transactions(first: $f) { edges { cursor } } block { id } }', { f: 0 }],
      ['query($f: Int) { transactions(first: $f) { edges { cursor } } }', { f: 'many' }],
      [
        'query($yes: Boolean!) { block @include(if: $yes) { id } blocks(first: 1) { edges { cursor } } }',
        { yes: false },
      ],
      ['{ transactions(after: "no cursor") { edges { cursor } } }', undefined],
      ['{ __schema { queryType { name } } __typename }', undefined],
      ['query A { block { id } } query B { __typename }', undefined],
      ['mutation { block { id } }', undefined],
    ];
    for (const [query, variables] of asked) {
      const request = { query, variables, operationName: undefined };
      const first = await service.answer(request);
      for (let times = 2; times <= 3; times += 1) {
        const { status, body } = await service.answer(request);
        // The two engines name the type of a wrong variable, or do not.
        assert.deepEqual({ status, body: body.replace('Expected type Int; ', '') }, first, query);
      }
    }
    assert.ok(service.compiledBytes > 0);
  });

  it('compiles what comes again, and never what has very many fields', async () => {
    const { service } = await fresh();
    const ask = (query: string) => service.answer({ query, variables: undefined, operationName: undefined });
    const small = '{ block { id } }';
    await ask(small);
    assert.equal(service.compiledBytes, 0);
    await ask(small);
    const one = service.compiledBytes;
    assert.ok(one > 0);
    const aliases = Array.from({ length: 240 }, (_, index) => `a${index}: transaction(id: "x") { id }`);
    for (let times = 0; times < 3; times += 1) {
      assert.equal((await ask(`{ ${aliases.join(' ')} }`)).status, 200);
    }
    assert.equal(service.compiledBytes, one);
    const page = '{ transactions(first: 1000) { edges { node { id tags { name value } } } } }';
    await ask(page);
    assert.ok(
      service.compiledBytes > one,
      'a long page is compiled at once: interpreting it would take longer',
    );
  });

  it('refuses what would cost too much, in plain words and before anything is looked up', async () => {
    const { index, ask } = await fresh();
    await index.sql.close();
    const costs = async (query: string, variables?: Record<string, unknown>) => {
      const { status, errors, data } = await ask(query, variables);
      assert.deepEqual([status, errors.length, data], [400, 1, undefined], query);
      assert.equal(errors[0].extensions.code, 'GRAPHQL_VALIDATION_FAILED');
      return errors[0].message;
    };
    const aliases = (count: number, field: string) =>
      Array.from({ length: count }, (_, index) => `a${index}: ${field}`).join(' ');
    const page = (first: string, node: string) =>
      `transactions(first: ${first}) { edges { node { ${node} } } }`;
    assert.match(
      await costs(`{ ${page('1000', aliases(100, 'signature'))} }`),
      /costs [0-9]+, and a request may cost 6144/,
    );
    assert.match(
      await costs(`query ($n: Int) { ${page('$n', aliases(100, 'tags { name value }'))} }`, { n: 1000 }),
      /may cost 6144 in all/,
    );
    assert.match(
      await costs(`{ ${page('200', aliases(220, 'id'))} }`),
      /more than 200 fields asks for more than 16000/,
    );
    assert.match(await costs(`{ block { ${aliases(251, 'id')} } }`), /more than 250 aliases/);
    const variables = Array.from({ length: 251 }, (_, index) => `$v${index}: Int`).join(' ');
    assert.match(await costs(`query (${variables}) { block { id } }`), /more than 250 variables/);
    assert.match(
      await costs(`{ block { ${'id @skip(if: false) @include(if: true) '.repeat(170)} } }`),
      /more than 500 fields/,
    );
    const introspection = `{ __schema { types { ${aliases(100, 'fields { name type { name } }')} } } }`;
    assert.match(await costs(introspection), /asks for more than 16000 values/);
  });

  it('refuses texts nested beyond the stack, and floods of wrong variables, in few words', async () => {
    const { ask } = await fresh();
    const nested = [
      `{ block(id: ${'['.repeat(9_000)}${']'.repeat(9_000)}) { id } }`,
      `${'{ a '.repeat(6_000)}${'}'.repeat(6_000)}`,
      `{ ${'... { '.repeat(5_000)} block { id } ${'}'.repeat(5_000)} }`,
    ];
    for (const query of nested) {
      const { status, errors } = await ask(query);
      assert.deepEqual([status, errors.length], [400, 1]);
    }
    const query = 'query($ids: [ID!]) { transactions(ids: $ids) { count } }';
    for (const count of [5_000, 100_000]) {
      const { status, errors } = await ask(query, { ids: Array.from({ length: count }, () => ({})) });
      assert.equal(status, 400);
      assert.ok(errors.length <= 20, `${errors.length} errors`);
    }
    assert.equal((await ask(query, { ids: Array.from({ length: 1_000 }, () => 'none') })).status, 200);
  });

  it('describes itself', async () => {
    const { ask } = await fresh();
    const { data } = await ask(
      '{ __schema { queryType { fields { name } } } __type(name: "SortOrder") { enumValues { name } } }',
    );
    assert.deepEqual(
      data.__schema.queryType.fields.map((field: { name: string }) => field.name),
      ['transaction', 'transactions', 'block', 'blocks', 'completeness'],
    );
    assert.equal(data.__type.enumValues.length, 4);
  });

  it('tells of a page which heights it covers, and whether they are complete', async () => {
    const { index, ask } = await fresh();
    const entries = [1, 2, 3].map((height) => entry(header(`at ${height}`), { height, blockIndex: 0 }));
    const prepared = await index.writer.prepare(entries);
    await index.sql.transaction(async (tx) => {
      await index.writer.put(tx, prepared);
      for (const height of [1, 2, 3, 4]) await insertBlock(tx, blockAt(height));
      await tx.run(
        'INSERT INTO missing_transactions (id, height, block_index, attempts, next_try_at) VALUES (?, 1, 1, 0, 0)',
        digest('missing'),
      );
    });
    await index.refresh();
    const page = async (args: string) => {
      const { data, errors } = await ask(
        `{ transactions(${args}) { edges { cursor } completeness { min max complete ranges { min max } } } }`,
      );
      assert.equal(errors, undefined);
      return data.transactions;
    };
    const covered = async (args: string) => {
      const { completeness } = await page(args);
      return completeness && [completeness.min, completeness.max, completeness.complete];
    };
    // First what is not mined, then from the newest block down.
    assert.equal(await covered('first: 1'), null);
    assert.deepEqual(await covered('first: 3'), [2, 4, true]);
    assert.deepEqual(await covered('first: 10'), [0, 4, false]);
    const { edges } = await page('first: 3');
    assert.deepEqual(await covered(`first: 1, after: "${edges[2].cursor}"`), [1, 2, false]);
    assert.deepEqual(await covered('first: 1, sort: HEIGHT_ASC'), [0, 0, true]);
    assert.deepEqual(
      await covered('block: { min: 2, max: 9 }'),
      [2, 9, false],
      'blocks 5 to 9 are not there',
    );
    assert.deepEqual(await covered('first: 1, sort: INGESTED_AT_DESC, block: { min: 2, max: 3 }'), [
      2,
      3,
      true,
    ]);
    const { data } =
      await ask(`{ completeness(block: { max: 3 }) { complete everything ranges { min max } next
      missingTransactions { id height } missingBlocks { min } unreadBundles { id } leftOutBundles { id } } }`);
    assert.deepEqual(data.completeness, {
      complete: false,
      everything: false,
      ranges: [
        { min: 0, max: 0 },
        { min: 2, max: 3 },
      ],
      next: null,
      missingTransactions: [{ id: digest('missing').toString('base64url'), height: 1 }],
      missingBlocks: [],
      unreadBundles: [],
      leftOutBundles: [],
    });
  });

  const blockAt = (height: number) => ({
    height,
    id: Buffer.alloc(48, height + 1),
    previous: Buffer.alloc(48, height),
    timestamp: height,
    txCount: 0,
    blockSize: '0',
    weaveSize: '0',
    json: Buffer.from('{}'),
  });

  it('pages blocks both ways and by id', async () => {
    const { index, ask } = await fresh();
    await index.sql.transaction(async (tx) => {
      for (let height = 1; height < 5; height += 1) await insertBlock(tx, blockAt(height));
    });
    const heights = async (args: string) => {
      const { data, errors } = await ask(
        `{ blocks${args} { pageInfo { hasNextPage } edges { cursor node { height } } } }`,
      );
      assert.equal(errors, undefined);
      return data.blocks.edges.map(({ node }: { node: { height: number } }) => node.height);
    };
    assert.deepEqual(await heights(''), [4, 3, 2, 1, 0]);
    assert.deepEqual(await heights('(first: 2, sort: HEIGHT_ASC, after: "WzBd")'), [1, 2]);
    assert.deepEqual(await heights('(height: { min: 1, max: 2 })'), [2, 1]);
    assert.deepEqual(await heights(`(ids: ["${Buffer.alloc(48, 3).toString('base64url')}"])`), [2]);
    assert.match(
      (await ask('{ blocks(after: "x") { edges { cursor } } }')).errors[0].message,
      /Invalid block cursor/,
    );
  });
});
