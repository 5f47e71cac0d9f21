import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, it } from 'node:test';
import {
  arweavePayer,
  contentDigest,
  ethereumPayer,
  signedHeaders,
  solanaPayer,
} from '../../../test/support/request-signers.ts';
import { isRecord } from '../../formats/json.ts';
import type { HttpServer } from '../../kernel/http/server.ts';
import { testServer } from '../../kernel/testing.ts';
import { openDatabase } from '../../storage/sql/open.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import type { AddressForms } from '../../wallets/address-forms.ts';
import { signatureHeaderHash } from '../../wallets/request-signature.ts';
import { signatureMigrations } from './migrations.ts';
import { isActing, RequestSignatures } from './request-signatures.ts';
import { ownerNonceKey } from './spent-signatures.ts';

const service = 'S9_V2HfiAq5qlLzObfyayj2-cjPujxpg25TRi4OZbe4';
const signer = solanaPayer();
const readingNonce = '5f2c6a0e9b1d4c3aa7e8f0d1c2b3a495';

describe('signatures of requests', () => {
  let folder = '';
  let database: Sql;
  let server: HttpServer;
  let signatures: RequestSignatures;
  let united: AddressForms[] = [];

  const open = (name: string) =>
    openDatabase({ databaseUrl: undefined, dataDir: folder, name, migrations: signatureMigrations });

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'turnpike-signatures-'));
    database = await open('ledger');
    signatures = new RequestSignatures({
      sql: database,
      service,
      credits: { unite: async (forms) => void united.push(forms) },
    });
    server = testServer({ admit: signatures.admit });
    signatures.watch(server.app);
    server.app.get('/read', async (request) => {
      const found = await signatures.signerOf(request);
      return {
        address: found?.wallet.address,
        bound: found?.bound,
        uuid: found !== undefined && isActing(found) ? found.uuid : undefined,
        isForAnother: signatures.isForAnother(request),
      };
    });
    server.app.get('/admitted', async (request) => {
      const admitted = signatures.admit(request);
      await admitted;
      return { isWaitedFor: admitted !== undefined };
    });
    server.app.post('/act', { config: { acts: true } }, async (request) => {
      const found = await signatures.signerOf(request);
      if (found === undefined || !isActing(found)) return { refused: true };
      const { owner, claim } = isRecord(request.query) ? request.query : {};
      const proof = typeof owner === 'string' ? [ownerNonceKey('an owner', owner)] : [];
      return {
        coversBody: signatures.coversBody(request, Buffer.from(JSON.stringify(request.body ?? ''))),
        coversNothing: signatures.coversBody(request, Buffer.alloc(0)),
        ...(await signatures.claim(request, found, String(claim), proof)),
      };
    });
    const own = { acts: true };
    server.app.post(
      '/leaves',
      { config: own, onSend: async (_, reply) => void reply.header('own', 'yes') },
      () => ({}),
    );
    await server.app.ready();
  });
  after(async () => {
    await server.close();
    await database.close();
    rmSync(folder, { recursive: true, force: true });
  });
  beforeEach(() => {
    united = [];
  });

  const ask = async (
    method: 'GET' | 'POST',
    url: string,
    headers: Record<string, string> = {},
    body?: object,
  ) => {
    const answer = await server.app.inject({
      method,
      url,
      headers,
      ...(body !== undefined && { payload: body }),
    });
    const read: unknown = answer.body === '' ? undefined : JSON.parse(answer.body);
    return { status: answer.statusCode, headers: answer.headers, body: read };
  };
  const read = async (headers: Record<string, string>, path = '/read') =>
    (await ask('GET', path, headers)).body;
  const act = async (headers: Record<string, string>, claim: string, more = '', body?: object) =>
    (await ask('POST', `/act?claim=${claim}${more}`, headers, body)).body;
  const stored = async () => (await database.all('SELECT key FROM spent_signatures')).length;
  const claimOf = async (headers: Record<string, string>) => {
    const key = signatureHeaderHash(headers['x-signature'] ?? '') ?? '';
    return (
      await database.all<{ claim: string | null }>('SELECT claim FROM spent_signatures WHERE key = ?', key)
    ).at(0)?.claim;
  };
  /** What a route sees of a signature that has acted already. */
  const spent = { payer: 'spent', owner: 'ours', coversBody: false, coversNothing: true };
  const nobody = { isForAnother: false };
  const boundTo = (path: string, more: { method?: string; contentDigest?: string } = {}) => ({
    service,
    method: 'GET',
    path,
    contentDigest: '',
    ...more,
  });

  it('say who signed, and whether it may act, bound to the request or not', async () => {
    const nonce = randomUUID();
    const known = { address: signer.address, isForAnother: false };
    assert.deepEqual(await read(await signedHeaders(signer, readingNonce)), { ...known, bound: false });
    assert.deepEqual(await read(await signedHeaders(signer, nonce.toUpperCase())), {
      ...known,
      bound: false,
      uuid: nonce,
    });
    assert.deepEqual(await read(await signedHeaders(signer, nonce, boundTo('/read'))), {
      ...known,
      bound: true,
      uuid: nonce,
    });
    const digest = contentDigest('body');
    assert.deepEqual(
      await read(await signedHeaders(signer, nonce, boundTo('/read', { contentDigest: digest }))),
      {
        ...known,
        bound: true,
        uuid: nonce,
      },
    );
  });

  it('are of nobody where a header is missing, or a bound one is for something else', async () => {
    for (const nonce of [randomUUID(), readingNonce]) {
      const good = await signedHeaders(signer, nonce);
      for (const missing of ['x-public-key', 'x-nonce', 'x-signature']) {
        const { [missing]: _, ...rest } = good;
        assert.deepEqual(await read(rest), nobody, missing);
      }
      // What was signed for no service is good for none that is named.
      assert.deepEqual(await read({ ...good, 'x-service-address': service }), nobody);
      assert.deepEqual(await read({ ...good, 'x-service-address': 'another' }), { isForAnother: true });
      const foreign = await signedHeaders(signer, nonce, { ...boundTo('/read'), service: 'another' });
      assert.deepEqual(await read(foreign), { isForAnother: true });
      for (const wrong of [boundTo('/read', { method: 'POST' }), boundTo('/other')])
        assert.deepEqual(await read(await signedHeaders(signer, nonce, wrong)), nobody);
      const odd = boundTo('/read', { contentDigest: 'sha-256=:short:' });
      assert.deepEqual(await read(await signedHeaders(signer, nonce, odd)), nobody);
    }
  });

  it('tell the ledger once per request which addresses are one wallet, where there are several', async () => {
    const ethereum = ethereumPayer();
    for (let time = 1; time <= 2; time += 1) {
      await read(await signedHeaders(ethereum));
      assert.equal(united.length, time);
      assert.ok(united.every(({ wallet }) => wallet.address === ethereum.address));
    }
    await read({ ...(await signedHeaders(ethereum)), 'x-nonce': randomUUID() });
    await read(await signedHeaders(arweavePayer));
    assert.equal(united.length, 2);
  });

  it('are claimed by one request, which may come again, and by no other', async () => {
    const headers = await signedHeaders(signer);
    const ours = { payer: 'ours', owner: 'ours', coversBody: false, coversNothing: true };
    assert.deepEqual(await act(headers, 'one'), ours);
    assert.deepEqual(await act(headers, 'one'), ours);
    assert.deepEqual(await act(headers, 'two'), { ...ours, payer: 'another' });
    assert.equal(await claimOf(headers), 'one');
    const owner = randomUUID();
    assert.deepEqual(await act(await signedHeaders(signer), 'three', `&owner=${owner}`), ours);
    assert.deepEqual(await act(await signedHeaders(signer), 'four', `&owner=${owner}`), {
      ...ours,
      owner: 'another',
    });
  });

  it('cover the body that their digest names', async () => {
    const body = { years: 1 };
    for (const [digest, coversBody, coversNothing] of [
      [contentDigest(JSON.stringify(body)), true, false],
      [contentDigest('another'), false, false],
      [contentDigest(''), false, true],
    ] as const) {
      const headers = { ...(await signedHeaders(signer)), 'content-digest': digest };
      assert.deepEqual(await act(headers, 'body', '', body), {
        payer: 'ours',
        owner: 'ours',
        coversBody,
        coversNothing,
      });
    }
  });

  it('are spent by a claim where the owner’s proof beside them is not claimed', async () => {
    const proof = {
      'x-owner-nonce': randomUUID(),
      'x-owner-signature': Buffer.from(randomUUID()).toString('base64url'),
    };
    await act({ ...(await signedHeaders(signer)), ...proof }, 'one');
    assert.equal(await claimOf({ 'x-signature': proof['x-owner-signature'] }), null);
  });

  it('never act after a route that reads, that is not there, or that acts and left them', async () => {
    for (const [method, path, status] of [
      ['GET', '/read', 200],
      ['GET', '/nowhere', 404],
      ['POST', '/leaves', 200],
    ] as const) {
      const headers = await signedHeaders(signer);
      const answer = await ask(method, path, headers);
      assert.equal(answer.status, status);
      assert.equal(
        answer.headers.own,
        path === '/leaves' ? 'yes' : undefined,
        'hooks of the route itself stay',
      );
      assert.equal(await claimOf(headers), null, path);
      assert.deepEqual(await act(headers, 'later'), spent);
    }
  });

  it('are spent by their bytes alone where they are bound to another request of this service', async () => {
    const elsewhere = await signedHeaders(
      signer,
      randomUUID(),
      boundTo('/act?claim=bound', { method: 'POST' }),
    );
    const before = await stored();
    assert.deepEqual(await read(elsewhere), nobody);
    assert.equal(await stored(), before + 1);
    assert.equal(await claimOf(elsewhere), null);
    assert.deepEqual(await act(elsewhere, 'bound'), spent);
  });

  it('leave nothing behind where nothing could act, and are not waited for', async () => {
    const before = await stored();
    const good = await signedHeaders(signer);
    const { 'x-signature': _, ...unsigned } = good;
    const bytes = Buffer.from(randomUUID()).toString('base64url');
    for (const [headers, isWaitedFor] of [
      [{}, false],
      [unsigned, false],
      [{ 'x-signature': 'AAAA' }, false],
      [await signedHeaders(signer, readingNonce), false],
      [{ ...good, 'x-nonce': randomUUID() }, true],
      [{ 'x-owner-signature': bytes }, true],
      [{ 'x-owner-signature': bytes, 'x-owner-nonce': readingNonce }, true],
      [{ 'x-owner-signature': 'not base64!', 'x-owner-nonce': randomUUID() }, true],
    ] as const) {
      assert.deepEqual(await read({ ...headers }, '/admitted'), { isWaitedFor });
      assert.equal((await ask('POST', '/leaves', { ...headers })).status, 200);
      assert.equal(await stored(), before, JSON.stringify(headers));
    }
    assert.deepEqual(await act(unsigned, 'nobody'), { refused: true });
  });

  it('are limited where they would be stored, also where they act', async () => {
    const narrow = new RequestSignatures({ sql: database, service, perMinute: 1 });
    const limited = testServer();
    limited.app.post('/act', async (request) => {
      const found = await narrow.signerOf(request);
      assert.ok(found !== undefined && isActing(found));
      return narrow.claim(request, found, 'one');
    });
    await limited.app.ready();
    try {
      const first = await signedHeaders(signer);
      const status = async (headers: Record<string, string>) =>
        (await limited.app.inject({ method: 'POST', url: '/act', headers })).statusCode;
      assert.equal(await status(first), 200);
      assert.equal(await status(first), 200, 'what is stored already is free');
      const before = await stored();
      assert.equal(await status(await signedHeaders(signer)), 429);
      assert.equal(await stored(), before);
    } finally {
      await limited.close();
    }
  });

  it('are refused while the database is away, in the words of the route where there is one', async () => {
    const gone = await open('gone');
    await gone.close();
    const refusing = testServer({ admit: new RequestSignatures({ sql: gone, service }).admit });
    refusing.app.get('/read', () => ({}));
    await refusing.app.ready();
    try {
      const headers = await signedHeaders(signer);
      const nowhere = await refusing.app.inject({ url: '/nowhere', headers });
      assert.deepEqual(
        [nowhere.statusCode, nowhere.headers['retry-after'], nowhere.body],
        [503, '5', '"Database unavailable"'],
      );
      const route = await refusing.app.inject({ url: '/read', headers });
      assert.deepEqual([route.statusCode, route.body], [500, '"Internal Server Error"']);
    } finally {
      await refusing.close();
    }
  });
});
