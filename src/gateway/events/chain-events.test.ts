/** What followers of the chain are told over HTTP and WebSocket, by a gateway beside the local node. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { createClient } from 'graphql-ws';
import { WebSocket } from 'ws';
import {
  type LocalStack,
  makeTransaction,
  startLocalStack,
  text,
  until,
} from '../../../test/support/local-gateway.ts';

let stack: LocalStack;
before(async () => {
  stack = await startLocalStack({ overrides: { EVENTS_MAX_READERS_PER_NETWORK: '6' } });
});
after(async () => {
  await stack.stop();
});

interface Message {
  readonly id: string;
  readonly type: string;
  readonly time: number;
  readonly data: Record<string, unknown>;
}

/** Messages of a stream as they come, until it is left. */
async function* follow(query: Record<string, string>, headers: Record<string, string> = {}) {
  const leaving = new AbortController();
  try {
    const url = `${stack.gateway.url}/gw/events?${new URLSearchParams(query)}`;
    const answer = await fetch(url, { headers, signal: leaving.signal });
    assert.equal(answer.headers.get('content-type'), 'text/event-stream; charset=utf-8');
    let rest = '';
    for await (const part of answer.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      const parts = `${rest}${part}`.split('\n\n');
      rest = parts.pop() ?? '';
      for (const one of parts) {
        const data = /^data: (.*)$/m.exec(one)?.[1];
        if (data !== undefined) yield JSON.parse(data) as Message;
      }
    }
  } finally {
    leaving.abort();
  }
}

async function take(events: AsyncIterable<Message>, count: number): Promise<Message[]> {
  const taken: Message[] = [];
  for await (const event of events) {
    taken.push(event);
    if (taken.length === count) break;
  }
  return taken;
}

const readers = async () =>
  Number(/^events_readers (\d+)$/m.exec(await text(`${stack.gateway.url}/gw/__gateway_metrics`))?.[1]);
const noReaders = () => until('nobody follows', async () => (await readers()) === 0);

const post = async (value: string) => {
  const { transaction, post } = await makeTransaction(stack.node.url, Buffer.from(value), [
    { name: 'Content-Type', value: 'text/plain' },
    { name: 'Test', value },
  ]);
  await post();
  return transaction.id.toString('base64url');
};
const byTest = (value: string) => JSON.stringify({ tags: [{ name: 'Test', value }] });

test('a transaction is told when it is new, mined and final, and its blocks beside it', async () => {
  const wanted = { filter: byTest('one'), types: 'transaction.*' };
  const told = take(follow(wanted), 3);
  await until('somebody follows', async () => (await readers()) > 0);
  const id = await post('one');
  await until('it is indexed', async () => (await stack.inside.index.recordOf(id)) !== undefined);
  await text(`${stack.node.url}/mine/21`);
  const [first, second, third] = await told;
  assert.deepEqual(
    [first?.type, second?.type, third?.type],
    ['transaction.new', 'transaction.mined', 'transaction.final'],
  );
  const height = Number(second?.data.height);
  const block = JSON.parse(await text(`${stack.node.url}/block/height/${height}`));
  assert.deepEqual(second?.data, {
    id,
    owner_address: second?.data.owner_address,
    target: '',
    quantity: '0',
    tags: [
      { name: 'Content-Type', value: 'text/plain' },
      { name: 'Test', value: 'one' },
    ],
    data_size: 3,
    content_type: 'text/plain',
    height,
    block_id: block.indep_hash,
  });
  assert.deepEqual([first?.data.height, first?.data.block_id], [null, null]);
  assert.deepEqual(third?.data, second?.data);

  // The same from the log, by either way to say where one was.
  const again = await take(follow({ ...wanted, after: '0' }), 3);
  assert.deepEqual(again, [first, second, third]);
  assert.deepEqual(await take(follow(wanted, { 'last-event-id': again[1]?.id ?? '' }), 1), [third]);
  const ofBlock = { types: 'block.new', after: first?.id ?? '' };
  const [next] = await take(follow(ofBlock), 1);
  assert.deepEqual(next?.data, {
    id: block.indep_hash,
    height,
    previous: block.previous_block,
    timestamp: block.timestamp,
    transactions: 1,
  });
  await noReaders();
});

test('a query that is not understood is refused with what is wrong, and nobody is counted', async () => {
  const refused: [string, RegExp][] = [
    ['filter={', /filter: is not JSON/],
    ['filter={"sometimes":true}', /\$\.sometimes is not a filter/],
    ['types=item.gone', /"item\.gone" is not a type/],
    ['after=yesterday', /Invalid cursor/],
    ['after=1&after=2', /Invalid query/],
  ];
  for (const [query, words] of refused) {
    const answer = await fetch(`${stack.gateway.url}/gw/events?${query}`);
    assert.equal(answer.status, 400, query);
    assert.match(await answer.text(), words);
  }
  await noReaders();
});

const clientOf = () =>
  createClient({
    url: `${stack.gateway.url.replace(/^http/, 'ws')}/graphql`,
    webSocketImpl: WebSocket,
    retryAttempts: 0,
  });

interface Told {
  readonly transactions: {
    readonly cursor: string;
    readonly state: string;
    readonly node: { readonly id: string; readonly block: { readonly height: number } | null };
  };
}
const fields = '{ cursor state node { id block { height } data { size } owner { address key } signature } }';

test('a subscription has the arguments of the query, resumes behind a cursor, and ends when it is told to', async () => {
  const client = clientOf();
  try {
    const query = `subscription($after: String, $tags: [TagFilter!], $states: [TransactionState!]) {
      transactions(tags: $tags, states: $states, bundledIn: null, after: $after) ${fields} }`;
    const tags = [{ name: 'Te?t', values: ['two*'], match: 'WILDCARD' }];
    const states = ['NEW', 'MINED'];
    const all = client.iterate<Told>({ query, variables: { tags, states, after: '0' } });
    const id = await post('two and more');
    const told = [await all.next()];
    assert.equal(await readers(), 1);
    await text(`${stack.node.url}/mine`);
    told.push(await all.next());
    const events = told.map(({ value }) => value?.data?.transactions);
    assert.deepEqual(
      events.map((event) => [event?.state, event?.node.id]),
      [
        ['NEW', id],
        ['MINED', id],
      ],
    );
    assert.ok((events[1]?.node.block?.height ?? 0) > 0);
    await all.return?.(undefined);

    const rest = client.iterate<Told>({ query, variables: { tags, states, after: events[0]?.cursor } });
    assert.deepEqual((await rest.next()).value?.data?.transactions, events[1]);
    await rest.return?.(undefined);

    const blocks = client.iterate<{ blocks: { state: string; node: { height: number } } }>({
      query: `subscription { blocks(height: { min: ${events[1]?.node.block?.height} }, after: "0") {
        cursor state node { id height previous timestamp } } }`,
    });
    const first = (await blocks.next()).value?.data?.blocks;
    assert.deepEqual([first?.state, first?.node.height], ['NEW', events[1]?.node.block?.height]);
    await blocks.return?.(undefined);

    // What comes from now on: the next block once it is heard.
    const news = client.iterate<{ blocks: { state: string } }>({
      query: 'subscription { blocks(states: [NEW]) { state } }',
    });
    let isHeard = false;
    const heard = news.next().finally(() => {
      isHeard = true;
    });
    await until('a new block is told', async () => isHeard || (await text(`${stack.node.url}/mine`)) === '');
    assert.deepEqual((await heard).value?.data?.blocks, { state: 'NEW' });
    await news.return?.(undefined);
  } finally {
    await client.dispose();
  }
  await noReaders();
});

test('what a subscription may not ask is refused in the words of GraphQL, and the socket stays', async () => {
  const client = clientOf();
  const ask = async (query: string, variables?: Record<string, unknown>): Promise<string> => {
    try {
      const { value } = await client.iterate({ query, ...(variables && { variables }) }).next();
      return JSON.stringify(value);
    } catch (error) {
      return JSON.stringify(error);
    }
  };
  try {
    assert.match(
      await ask(`subscription { transactions(after: "yesterday") ${fields} }`),
      /not a cursor.*BAD_USER_INPUT/,
    );
    assert.match(
      await ask('subscription { transactions { edges { cursor } } }'),
      /GRAPHQL_VALIDATION_FAILED/,
    );
    assert.match(
      await ask(`subscription { transactions ${fields} blocks { cursor } }`),
      /only one top level field|must select only one/i,
    );
    assert.match(await ask('{ transactions { edges { cursor } } }'), /Send queries by POST/);
    assert.match(await ask('subscription {'), /GRAPHQL_PARSE_FAILED/);
    const many = [{ name: 'a', values: Array(17).fill('*'), match: 'WILDCARD' }];
    const withTags = `subscription($tags: [TagFilter!]) { transactions(tags: $tags) ${fields} }`;
    assert.match(await ask(withTags, { tags: many }), /at most 16 patterns/);
    assert.equal(await readers(), 1);
  } finally {
    await client.dispose();
  }
  const answer = await fetch(`${stack.gateway.url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query: `subscription { transactions ${fields} }` }),
  });
  assert.equal(answer.status, 400);
  assert.match(await answer.text(), /over WebSocket/);
  await noReaders();
});

test('too many readers of one network are refused, whichever way they come', async () => {
  const url = `${stack.gateway.url.replace(/^http/, 'ws')}/graphql`;
  const sockets = Array.from({ length: 6 }, () => new WebSocket(url, 'graphql-transport-ws'));
  await Promise.all(sockets.map((socket) => once(socket, 'open')));
  const oneMore = new WebSocket(url, 'graphql-transport-ws');
  const [refusal] = await once(oneMore, 'error');
  assert.match(String(refusal), /429/);
  assert.equal((await fetch(`${stack.gateway.url}/gw/events`)).status, 429);
  for (const socket of sockets) socket.terminate();
  await noReaders();
});

test('a handshake where none is taken is answered as any request', async () => {
  const socket = new WebSocket(`${stack.gateway.url.replace(/^http/, 'ws')}/gw/info`);
  const [refusal] = await once(socket, 'error');
  assert.match(String(refusal), /Unexpected server response: 200/);
});
