/** What a person with a browser meets on a local stack: pages at the roots, and https on the same ports. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { hash, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:http2';
import { join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { program } from '../support/program.ts';
import { type RunningStack, startStack } from '../support/stack.ts';

const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

describe('a local stack in a browser', () => {
  let stack: RunningStack;
  before(async () => {
    stack = await startStack();
  });
  after(() => stack.stop());

  test('every root greets people with a page, and answers programs as ever', async () => {
    const programs: Record<string, number> = {
      arweave: 200,
      solana: 405,
      card: 404,
      x402: 404,
      gateway: 200,
      payment: 200,
      upload: 200,
      router: 200,
    };
    for (const [name, status] of Object.entries(programs)) {
      const url = `${stack.urls[name]}/`;
      const page = await fetch(url, { headers: { accept: browser } });
      const text = await page.text();
      assert.equal(page.status, 200, name);
      assert.match(page.headers.get('content-type') ?? '', /^text\/html/, name);
      assert.match(
        page.headers.get('content-security-policy') ?? '',
        /^default-src 'none'; style-src 'sha256-/,
      );
      assert.ok(!text.includes('<script'), name);
      const links = [...text.matchAll(/<a href="(\/[^"]*)"/g)].map(([, path]) => path ?? '');
      assert.ok(links.length > 0, name);
      for (const path of links) {
        const opened = await fetch(new URL(path, url));
        await opened.body?.cancel();
        assert.equal(opened.status, 200, `${name} ${path}`);
      }
      const data = await fetch(url);
      assert.equal(data.status, status, name);
      assert.match(data.headers.get('content-type') ?? '', /^application\/json/, name);
      await data.body?.cancel();
    }
  });

  test('https and HTTP/2 are answered on every port, with certificates of the authority in the folder', async () => {
    for (const url of Object.values(stack.urls)) {
      const first = new URL(url);
      // The authority is made when somebody asks.
      await fetch(`https://localhost:${first.port}/`).catch(() => {});
      const ca = readFileSync(join(stack.dataDir, 'tls', 'authority.pem'), 'utf8');
      const session = connect(`https://127.0.0.1:${first.port}`, { ca });
      const stream = session.request({ ':path': '/', accept: browser });
      const [headers] = await once(stream, 'response');
      assert.equal(headers[':status'], 200, url);
      assert.equal(session.alpnProtocol, 'h2');
      stream.resume();
      await once(stream, 'end');
      session.close();
    }
    assert.equal(stack.log().includes('TLS cannot'), false);
  });

  test('turnpike certificate tells of the authority, for people and for programs', async () => {
    const tell = (...words: string[]): string =>
      execFileSync(process.execPath, [program, 'certificate', ...words], {
        cwd: resolve(import.meta.dirname, '../..'),
        env: { ...process.env, DATA_DIR: stack.dataDir },
        encoding: 'utf8',
      });
    const { path, fingerprint, serverKeyHash } = JSON.parse(tell('--json'));
    const authority = new X509Certificate(readFileSync(path));
    assert.equal(authority.fingerprint256, fingerprint);
    const { port } = new URL(stack.urls.payment ?? '');
    const socket = connectTls({ port: Number(port), host: 'localhost', ca: authority.toString() });
    await once(socket, 'secureConnect');
    const spki = socket.getPeerX509Certificate()?.publicKey.export({ format: 'der', type: 'spki' });
    socket.destroy();
    assert.equal(hash('sha256', spki ?? '', 'base64'), serverKeyHash);
    for (const part of [path, fingerprint, serverKeyHash]) assert.ok(tell().includes(part));
  });

  test('an open HTTP/2 connection lives on when the network begins anew, and the authority stays', async () => {
    const ca = readFileSync(join(stack.dataDir, 'tls', 'authority.pem'), 'utf8');
    const session = connect(new URL(stack.urls.gateway ?? '').href.replace('http:', 'https:'), { ca });
    const ask = async (): Promise<number> => {
      const stream = session.request({ ':path': '/gw/info' });
      const [headers] = await once(stream, 'response');
      stream.resume();
      return headers[':status'];
    };
    assert.equal(await ask(), 200);
    const reset = await fetch(`${stack.urls.arweave}/local/reset`, { method: 'POST' });
    assert.equal(reset.status, 200, await reset.text());
    assert.equal(await ask(), 200);
    session.close();
    assert.equal(readFileSync(join(stack.dataDir, 'tls', 'authority.pem'), 'utf8'), ca);
  });
});
