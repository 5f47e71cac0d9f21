import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, describe, test } from 'node:test';
import { readConfig } from '../config/config.ts';
import { parseItem } from '../formats/ans104/item.ts';
import { silentLog } from '../kernel/testing.ts';
import { readLimited } from '../outside/http.ts';
import { ethereumSigner, signItem } from '../wallets/data-items/signer.ts';
import { ForkCache } from './cache.ts';
import type { ForkedChain } from './chain.ts';
import { createFork, type Fork } from './fork.ts';
import { checkFork } from './settings.ts';
import { ForkUnavailable } from './upstream.ts';

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

describe('the fork', () => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-forked-'));
  /** What the network answers, by path. */
  const answers = new Map<string, Answer>();
  let asked: string[] = [];
  let server: Server;
  let url: string;
  let fork: Fork;
  let chain: ForkedChain;
  const { signal } = new AbortController();

  const opened = async (more: Record<string, string> = {}) => {
    const environment = { DATA_DIR: mkdtempSync(join(folder, 'data-')), FORK_GATEWAY_URL: url, ...more };
    const made = createFork(readConfig(environment), silentLog);
    await made?.start();
    return made ?? assert.fail();
  };
  before(async () => {
    server = createServer((request, response) => {
      const path = request.url ?? '';
      asked.push(path);
      assert.equal(request.headers['x-turnpike-fork'], 'no');
      const answer = answers.get(path);
      if (answer === undefined) response.writeHead(404).end('Not Found.');
      else answer(request, response);
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    fork = await opened();
    chain = fork.chain ?? assert.fail();
  });
  after(async () => {
    await fork.stop();
    server.close();
    rmSync(folder, { recursive: true, force: true });
  });
  afterEach(() => {
    answers.clear();
    asked = [];
  });

  const sends =
    (body: string | Buffer, headers: Record<string, string> = {}, status = 200): Answer =>
    (_request, response) => {
      response.writeHead(status, { 'content-length': Buffer.byteLength(body), ...headers }).end(body);
    };
  const newId = () => randomBytes(32).toString('base64url');
  const digestOf = (data: Buffer) => createHash('sha256').update(data).digest('base64url');

  async function bytes(id: string): Promise<Buffer | undefined> {
    const found = await chain.content.open(id, undefined, signal);
    assert.notEqual(found, 'not-asked');
    return typeof found === 'object' ? await readLimited(found.stream, 1_000_000) : undefined;
  }

  test('content of a gateway and of a node is read once', async () => {
    const [atGateway, atNode, data] = [newId(), newId(), Buffer.from('some bytes')];
    answers.set(`/raw/${atGateway}`, sends(data, { 'x-ar-io-digest': digestOf(data) }));
    answers.set(`/raw/${atNode}`, sends('Request type not found.', {}, 400));
    answers.set(`/${atNode}`, sends(data, { 'content-type': 'text/x-node' }));
    for (const id of [atGateway, atNode]) {
      assert.deepEqual(await bytes(id), data);
      answers.clear();
      assert.deepEqual(await bytes(id), data, 'from what was kept');
      answers.set(`/raw/${atNode}`, sends('Request type not found.', {}, 400));
      answers.set(`/${atNode}`, sends(data, { 'content-type': 'text/x-node' }));
    }
    const kept = await chain.content.open(atNode, { start: 5, end: 7 }, signal);
    assert.ok(typeof kept === 'object');
    assert.equal(kept.contentType, 'text/x-node');
    assert.equal(kept.verified, false);
    assert.deepEqual(await readLimited(kept.stream, 10), data.subarray(5, 7));
  });

  test('what breaks off or is not what was announced is not kept', async () => {
    const [cut, other, data] = [newId(), newId(), Buffer.from('the right bytes')];
    answers.set(`/raw/${cut}`, (_request, response) => {
      response.writeHead(200, { 'content-length': 100 });
      response.write('half');
      response.socket?.end();
    });
    await assert.rejects(bytes(cut));
    answers.set(`/raw/${other}`, sends('other bytes', { 'x-ar-io-digest': digestOf(data) }));
    await bytes(other);
    for (const id of [cut, other]) {
      answers.set(`/raw/${id}`, sends(data, { 'x-ar-io-digest': digestOf(data) }));
      assert.deepEqual(await bytes(id), data);
    }
  });

  test('only an answer that says so is an absence', async () => {
    const id = newId();
    assert.equal(await bytes(id), undefined);
    assert.equal(await chain.transactions.header(id), undefined);
    answers.set(`/raw/${id}`, sends('', { 'cache-control': 'no-store' }, 404));
    assert.equal(await chain.content.open(id, undefined, signal), 'not-asked');
    for (const status of [301, 403, 429, 451, 500, 503]) {
      for (const path of [`/raw/${id}`, `/tx/${id}`, `/tx/${id}/status`])
        answers.set(path, sends('', {}, status));
      await assert.rejects(bytes(id), ForkUnavailable, String(status));
      await assert.rejects(chain.transactions.header(id), ForkUnavailable, String(status));
      await assert.rejects(chain.transactions.status(id), ForkUnavailable, String(status));
    }
  });

  test('a header whose signature is not that of the id is none', async () => {
    const signature = randomBytes(512);
    const id = createHash('sha256').update(signature).digest('base64url');
    const header = (bytes: Buffer) => sends(JSON.stringify({ id, signature: bytes.toString('base64url') }));
    answers.set(`/tx/${id}`, header(randomBytes(512)));
    await assert.rejects(chain.transactions.header(id), /gave something else/);
    answers.set(`/tx/${id}`, header(signature));
    assert.equal((await chain.transactions.header(id))?.id, id);
  });

  test('an item that only the index knows is proven by what that says', async () => {
    await fork.stop();
    fork = await opened();
    chain = fork.chain ?? assert.fail();
    const data = Buffer.from('an item of a bundle');
    const tags = [{ name: 'Content-Type', value: 'text/x-item' }];
    const item = parseItem(
      await signItem({ data, tags }, ethereumSigner(createHash('sha256').update('forked item').digest())),
    );
    assert.ok(typeof item !== 'string');
    const { id, signature, owner } = item.header;
    const node = {
      id,
      signature: Buffer.from(signature).toString('base64url'),
      owner: { address: '', key: Buffer.from(owner).toString('base64url') },
      anchor: '',
      recipient: '',
      tags,
      data: { size: String(data.length), type: 'text/x-item' },
      block: { id: newId(), height: 7, timestamp: 1_700_000_000, previous: newId() },
      bundledIn: { id: newId() },
    };
    // A schema without `signatureType`, as some public ones are.
    answers.set('/graphql', async (request, response) => {
      let text = '';
      for await (const piece of request.setEncoding('utf8')) text += piece;
      const isKnown = !text.includes('signatureType');
      const answer = isKnown ? { data: { transactions: { edges: [{ node }] } } } : { errors: [{}] };
      sends(JSON.stringify(answer), {}, isKnown ? 200 : 400)(request, response);
    });
    answers.set(`/raw/${id}`, sends(data));
    assert.deepEqual(await bytes(id), data);
    const kept = await chain.content.open(id, undefined, signal);
    assert.ok(typeof kept === 'object' && kept.verified);
    kept.discard();
    assert.equal((await chain.transactions.header(id))?.signature_type, 3);
    // Kept, and not asked for again.
    answers.clear();
    assert.equal((await chain.transactions.nodes([id]))[0]?.block?.height, 7);
  });

  test('a fork without an index has no entries, which is no failure', async () => {
    const plain = await opened();
    assert.deepEqual(await plain.chain?.transactions.nodes([newId()]), []);
    asked = [];
    assert.deepEqual(await plain.chain?.transactions.nodes([newId()]), []);
    assert.deepEqual(asked, []);
    await plain.stop();
  });

  test('notes take no more than their share of the disk', async () => {
    const cache = await ForkCache.open({
      folder: join(folder, 'small'),
      maxBytes: 1024 * 1024,
      log: silentLog,
    });
    const note = 'x'.repeat(10_000);
    for (let count = 0; count < 60; count += 1) await cache.keep(url, `note ${count}`, note);
    const kept = await Promise.all(
      Array.from({ length: 60 }, (_, count) => cache.note(url, `note ${count}`)),
    );
    const found = kept.filter((one) => one !== undefined);
    assert.ok(found.length <= 26, String(found.length));
    assert.equal(kept.at(-1), note);
    await cache.close();
  });

  test('what was said last stands only while the fork is silent', async () => {
    const id = newId();
    const status = { block_height: 3, block_indep_hash: newId(), number_of_confirmations: 1 };
    answers.set(`/tx/${id}/status`, sends(JSON.stringify(status)));
    assert.deepEqual(await chain.transactions.status(id), status);
    answers.set(`/tx/${id}/status`, sends('', {}, 503));
    assert.deepEqual(await chain.transactions.status(id), status);
    answers.delete(`/tx/${id}/status`);
    assert.equal(await chain.transactions.status(id), undefined);
  });
});

test('settings that make no fork are told', () => {
  const problems = (environment: Record<string, string>) => {
    try {
      checkFork(readConfig(environment));
      return '';
    } catch (error) {
      return String(error);
    }
  };
  assert.equal(problems({ FORK_GATEWAY_URL: 'https://arweave.net' }), '');
  assert.equal(problems({ FORK_GATEWAY_URL: 'http://localhost:4000', GATEWAY_PORT: '4010' }), '');
  assert.match(
    problems({ FORK_GATEWAY_URL: 'http://localhost:4000' }),
    /is this network itself \(GATEWAY_PORT\)/,
  );
  assert.match(problems({ FORK_SOLANA_RPC_URL: 'http://[::1]:8899' }), /itself \(LOCAL_SOLANA_PORT\)/);
  assert.match(problems({ FORK_GATEWAY_URL: 'http://127.0.0.2', PORT: '80' }), /itself \(PORT\)/);
  assert.match(
    problems({ FORK_GATEWAY_URL: 'https://arweave.net', WORLD: 'public' }),
    /FORK_GATEWAY_URL is for the local network/,
  );
  assert.match(problems({ FORK_HEIGHT: '5' }), /FORK_GATEWAY_URL, which is not set/);
  assert.match(problems({ FORK_GRAPHQL_URL: 'https://arweave.net/graphql' }), /needs FORK_GATEWAY_URL/);
  assert.match(
    problems({ FORK_SOLANA_RPC_URL: 'https://one', SOLANA_RPC_URL: 'https://other' }),
    /leave one of them unset/,
  );
});
