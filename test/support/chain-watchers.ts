/** The three ways to be told of what happens on the chain, each as an app would use it. Each goes on where it was. */
import { createHmac } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import { createClient } from 'graphql-ws';
import { WebSocket } from 'ws';

export interface Watcher {
  readonly name: string;
  /** What was told of each id, in order, for example `mined`. */
  readonly told: ReadonlyMap<string, readonly string[]>;
  /** What went wrong with the words of the other side. */
  readonly wrong: readonly string[];
  /** The receiver goes away. */
  stop(): Promise<void>;
  /** And comes back. */
  start(): Promise<void>;
}

class Notes {
  readonly told = new Map<string, string[]>();
  readonly wrong: string[] = [];

  note(id: string, state: string): void {
    const known = this.told.get(id);
    if (known === undefined) this.told.set(id, [state]);
    else known.push(state);
  }
}

/** `GET /gw/events`, read by hand as the HTML standard has it. `url` is asked whenever it connects. */
export async function watchStream(url: () => string, filter: object): Promise<Watcher> {
  const notes = new Notes();
  let ending = new AbortController();
  let last = '';
  let reading: Promise<void> = Promise.resolve();

  const take = (message: string): void => {
    const fields = new Map(message.split('\n').map((line) => split(line)));
    const data = fields.get('data');
    if (fields.has('id')) last = fields.get('id') ?? '';
    if (data === undefined) return;
    const event = JSON.parse(data);
    if (fields.get('event') === 'gap') notes.wrong.push(`gap ${data}`);
    else if (event.id !== last || event.type !== fields.get('event')) notes.wrong.push(message);
    else notes.note(event.data.id, event.type.split('.')[1]);
  };
  const connect = async (signal: AbortSignal, opened: () => void): Promise<void> => {
    const query = new URLSearchParams({ filter: JSON.stringify(filter), types: 'item.*' });
    const headers = last === '' ? {} : { 'last-event-id': last };
    const answer = await fetch(`${url()}/gw/events?${query}`, { headers, signal });
    if (answer.status !== 200 || answer.body === null) throw new Error(`answered ${answer.status}`);
    let rest = '';
    for await (const text of answer.body.pipeThrough(new TextDecoderStream())) {
      const messages = `${rest}${text}`.split('\n\n');
      rest = messages.pop() ?? '';
      messages.forEach(take);
      // The first message says where the stream begins.
      if (messages.length > 0) opened();
    }
  };
  const start = async (): Promise<void> => {
    ending = new AbortController();
    const { signal } = ending;
    const { promise, resolve } = Promise.withResolvers<void>();
    reading = (async () => {
      while (!signal.aborted) {
        await connect(signal, resolve).catch(() => {});
        await new Promise((again) => setTimeout(again, 20));
      }
    })();
    await promise;
  };
  await start();
  return {
    name: 'event stream',
    ...notes,
    start,
    async stop() {
      ending.abort();
      await reading;
    },
  };
}

function split(line: string): [string, string] {
  const at = line.indexOf(': ');
  return at === -1 ? [line, ''] : [line.slice(0, at), line.slice(at + 2)];
}

const subscription = `subscription($tags: [TagFilter!], $after: String) {
  transactions(tags: $tags, after: $after) { cursor state node { id tags { name value } } } }`;

/** A subscription with the published client. */
export async function watchSubscription(
  url: () => string,
  tag: { readonly name: string; readonly value: string },
): Promise<Watcher> {
  const notes = new Notes();
  // A socket that is open has not subscribed yet: what happens in between is in the log.
  let after = '0';
  let isOver = false;
  let client = newClient(url);
  let reading: Promise<void> = Promise.resolve();

  const follow = async (): Promise<void> => {
    const variables = { tags: [{ name: tag.name, values: [tag.value] }], after };
    for await (const { data, errors } of client.iterate<Told>({ query: subscription, variables })) {
      if (data === undefined || data === null || errors !== undefined)
        notes.wrong.push(JSON.stringify(errors));
      else {
        const { cursor, state, node } = data.transactions;
        after = cursor;
        notes.note(node.id, state.toLowerCase());
      }
    }
  };
  const start = async (): Promise<void> => {
    isOver = false;
    reading = (async () => {
      while (!isOver) {
        client = newClient(url);
        await follow().catch(() => {});
        await client.dispose();
        await new Promise((again) => setTimeout(again, 20));
      }
    })();
  };
  await start();
  return {
    name: 'GraphQL subscription',
    ...notes,
    start,
    async stop() {
      isOver = true;
      await client.dispose();
      client.terminate();
      await reading;
    },
  };
}

interface Told {
  readonly transactions: {
    readonly cursor: string;
    readonly state: string;
    readonly node: { readonly id: string };
  };
}

const newClient = (url: () => string) =>
  createClient({
    url: `${url().replace(/^http/, 'ws')}/graphql`,
    webSocketImpl: WebSocket,
    retryAttempts: 0,
    lazy: true,
  });

/** A receiver of webhooks that checks their signatures and takes each message once. */
export async function watchHook(
  make: (receiver: string) => Promise<{ readonly secret: string }>,
  port: number,
): Promise<Watcher & { readonly messages: number; readonly refused: number }> {
  const notes = new Notes();
  const seen = new Set<string>();
  const secret = Promise.withResolvers<string>();
  let refused = 0;
  let server: Server | undefined;

  const take = async (headers: NodeJS.Dict<string | string[]>, body: string): Promise<void> => {
    const id = String(headers['webhook-id']);
    const signed = `${id}.${String(headers['webhook-timestamp'])}.${body}`;
    const key = Buffer.from((await secret.promise).replace(/^whsec_/, ''), 'base64');
    const signature = `v1,${createHmac('sha256', key).update(signed).digest('base64')}`;
    if (headers['webhook-signature'] !== signature) notes.wrong.push('a signature is wrong');
    if (seen.has(id)) return;
    seen.add(id);
    const message = JSON.parse(body);
    if (message.gap !== undefined) notes.wrong.push(`gap ${JSON.stringify(message.gap)}`);
    for (const { type, data } of message.events) {
      if (type !== 'ping') notes.note(data.id, type.split('.')[1]);
    }
  };
  const start = async (): Promise<void> => {
    server = createServer(async (request, response) => {
      let body = '';
      for await (const text of request.setEncoding('utf8')) body += text;
      // Now and then an answer is lost on its way: the message comes again.
      const isLost = seen.size % 5 === 4;
      await take(request.headers, body);
      if (isLost) refused += 1;
      response.writeHead(isLost ? 503 : 204).end();
    });
    await new Promise<void>((listening) => server?.listen(port, '127.0.0.1', listening));
  };
  await start();
  secret.resolve((await make(`http://127.0.0.1:${port}/hook`)).secret);
  return {
    name: 'webhook',
    ...notes,
    get messages() {
      return seen.size;
    },
    get refused() {
      return refused;
    },
    start,
    async stop() {
      server?.closeAllConnections();
      await new Promise((closed) => server?.close(closed));
    },
  };
}
