/** The whole payment server: a signature that was shown on any of its routes never spends its wallet's credits. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { wallet } from '../../src/localnet/solana/testing.ts';
import { program } from '../support/program.ts';
import {
  contentDigest,
  payersOfEachKind,
  type RequestSigner,
  signedHeaders,
} from '../support/request-signers.ts';
import { type RunningStack, startStack } from '../support/stack.ts';

const root = resolve(import.meta.dirname, '../..');
const thief = wallet('thief');
const theft = JSON.stringify({ name: 'stolen', ownerAddress: thief.address, type: 'lease', years: 1 });
const payers = payersOfEachKind();
const acting = '/v1/arns/actions/{action}';
/** Routes that take a signature for themselves, also where there is nothing that it could change. */
const claims = /\/arns\/quote\/|^DELETE \/v1\/hooks\/|^POST \/v1\/hooks\/[^/]+\/./;

/** What stands for a parameter of a path; any value will do where none is listed. */
const parameters: Readonly<Record<string, string>> = {
  method: 'payment-intent',
  address: thief.address,
  currency: 'usd',
  amount: '1000',
  type: 'usd',
  byteCount: '1000',
  intent: 'upgrade-name',
  name: 'some-name',
  token: 'arweave',
};

describe('signatures that were shown', () => {
  let stack: RunningStack;
  before(async () => {
    stack = await startStack({ only: ['payment'] });
    for (const { address } of payers) {
      await promisify(execFile)(process.execPath, [program, 'ledger', 'credit', address, '10'], {
        cwd: root,
        env: { ...process.env, DATA_DIR: stack.dataDir },
      });
    }
  });
  after(() => stack.stop());

  async function wincOf({ address }: RequestSigner): Promise<string> {
    const answer = await fetch(`${stack.urls.payment}/v1/balance?address=${address}`);
    const body: unknown = await answer.json();
    assert.ok(typeof body === 'object' && body !== null && 'winc' in body, JSON.stringify(body));
    return String(body.winc);
  }

  async function buy(headers: Record<string, string>): Promise<[number, unknown]> {
    const answer = await fetch(`${stack.urls.payment}/v1/arns/actions/buy-name`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: theft,
    });
    return [answer.status, await answer.json()];
  }

  test('on any documented route, in any method, where there is none, or where the path is broken', async () => {
    const document: { paths: Record<string, Record<string, unknown>> } = JSON.parse(
      await (await fetch(`${stack.urls.payment}/openapi.json`)).text(),
    );
    const documented = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods)
        .filter((method) => path !== acting || method !== 'post')
        .map((method) => [
          method.toUpperCase(),
          path.replace(/\{(\w+)\}/g, (_all, name: string) => parameters[name] ?? randomUUID()),
        ]),
    );
    assert.ok(documented.length > 20, String(documented.length));
    const others = [
      ['GET', '/v1/price/fiat/1000?promoCode=X'],
      ['GET', '/v1/top-up/checkout-session/nobody/usd/1'],
      ['GET', '/v1/x402/top-up?type=bytes&qty=1000'],
      ['GET', '/account/balance?address=x'],
      ['GET', '/price/bytes/1000'],
      ['GET', '/openapi.json'],
      ['HEAD', '/v1/info'],
      ['HEAD', '/v1/balance'],
      ['PUT', '/v1/balance'],
      ['DELETE', '/v1/arns/actions/buy-name'],
      ['GET', '/v1/nowhere'],
      ['GET', '/'],
      ['GET', '/v1/%zz'],
      ['POST', '/v1/stripe-webhook'],
    ];
    const held = await Promise.all(payers.map(wincOf));
    for (const [index, [method = '', path = '']] of [...documented, ...others].entries()) {
      const signer = payers[index % payers.length];
      assert.ok(signer !== undefined);
      const headers = await signedHeaders(signer);
      const status = await show(stack.urls.payment ?? '', method, path, headers);
      assert.ok(status >= 200 && status !== 500, `${method} ${path}: ${status}`);
      const answer = await buy(headers);
      // A signed quote and changes of webhooks have claimed their signature; everywhere else it is spent.
      const refusal = claims.test(`${method} ${path}`)
        ? [409, 'This nonce was used for another request; nothing was done, sign a new nonce']
        : [401, 'Nonce already used — replay rejected'];
      assert.deepEqual(answer, refusal, `${method} ${path}: ${status}`);
    }
    assert.deepEqual(await Promise.all(payers.map(wincOf)), held);
  });

  test('at another service, where they name this one, or here, where they name another', async () => {
    const info: { addresses: { arweave: string }; boundSignatures: string } = JSON.parse(
      await (await fetch(`${stack.urls.payment}/v1/info`)).text(),
    );
    assert.equal(info.boundSignatures, 'optional');
    const bound = {
      service: info.addresses.arweave,
      method: 'POST',
      path: '/v1/arns/actions/buy-name',
      contentDigest: contentDigest(theft),
    };
    for (const signer of payers) {
      const held = await wincOf(signer);
      const foreign = await signedHeaders(signer, randomUUID(), { ...bound, service: signer.address });
      assert.deepEqual(await buy(foreign), [401, 'The signature is for another service']);
      assert.equal(await wincOf(signer), held);
      const [status, body] = await buy(await signedHeaders(signer, randomUUID(), bound));
      assert.equal(status, 200, JSON.stringify(body));
      assert.ok(BigInt(await wincOf(signer)) < BigInt(held));
    }
  });
});

/** The status of a request with a path as it is written here: clients would mend it. */
function show(url: string, method: string, path: string, headers: Record<string, string>): Promise<number> {
  const { hostname, port } = new URL(url);
  return new Promise((done, failed) => {
    const socket = connect(Number(port), hostname, () => {
      const lines = Object.entries({ ...headers, host: 'test', connection: 'close', 'content-length': '0' });
      socket.write(
        `${method} ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}`).join('\r\n')}\r\n\r\n`,
      );
    });
    let answer = '';
    socket.setEncoding('utf8').on('data', (piece: string) => {
      answer += piece;
      // It would go on for ever.
      if (answer.includes('text/event-stream')) socket.end();
    });
    socket.on('error', failed).on('end', () => done(Number(answer.slice(9, 12))));
  });
}
