import assert from 'node:assert/strict';
import { createPrivateKey, createPublicKey, hash, sign, verify } from 'node:crypto';
import { describe, it } from 'node:test';
import { startAdminGateway } from '../../../test/support/admin-gateway.ts';
import { makeTransaction, text, until } from '../../../test/support/local-gateway.ts';
import { coveredHeaders, signatureBase } from './part.ts';

describe('the signature base', () => {
  it('is that of the published vector', () => {
    const pkcs8 = Buffer.concat([
      Buffer.from('302e020100300506032b657004220420', 'hex'),
      Buffer.from(Array.from({ length: 32 }, (_, at) => at)),
    ]);
    const key = createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' });
    const digest = `sha-256=:${hash('sha256', 'hello', 'base64')}:`;
    const head = {
      status: 200,
      headers: [
        ['content-type', 'application/json'],
        ['content-digest', digest],
      ] as const,
      request: { method: 'GET', path: '/gw/indexes' },
    };
    const { base, input } = signatureBase(head, ['content-type', 'content-digest'], {
      created: 1_767_225_600,
      keyId: 'ed25519:A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg',
    });
    assert.equal(
      input,
      '("@status" "content-type" "content-digest" "@method";req "@path";req);created=1767225600;keyid="ed25519:A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg";alg="ed25519"',
    );
    assert.equal(
      sign(null, Buffer.from(base), key).toString('base64'),
      'HSOikpYh490XrINOFI5jAbqZeiUUiViLgJaDjWf8mySlo10NjZt3ZZaOJIx2lni1lB8IbKugDl0bTPPV1+WjAg==',
    );
  });

  it('covers what triggers it and what goes with it, and nothing without a trigger', () => {
    assert.equal(
      coveredHeaders([
        ['content-type', 'a'],
        ['content-digest', 'b'],
      ]),
      undefined,
    );
    assert.deepEqual(
      coveredHeaders([
        ['date', 'now'],
        ['x-ar-io-data-id', 'id'],
        ['content-type', 'a'],
        ['x-arweave-tag-app', '1'],
        ['x-arweave-tag-app', '2'],
        ['etag', '"x"'],
      ]),
      ['x-ar-io-data-id', 'content-type', 'x-arweave-tag-app'],
    );
  });
});

describe('answers of a signing gateway', () => {
  it('verify with the key that their signature names, also the second time and for parts', async (t) => {
    const gateway = await startAdminGateway({ overrides: { HTTPSIG_ENABLED: 'true' } });
    t.after(() => gateway.stop());
    const made = await makeTransaction(gateway.stack.node.url, Buffer.from('signed bytes'), [
      { name: 'Content-Type', value: 'text/plain' },
      { name: 'App', value: 'Test' },
    ]);
    await made.post();
    await text(`${gateway.stack.node.url}/mine`);
    const id = made.transaction.id.toString('base64url');
    await until('it is indexed', async () => (await gateway.inside.index.locate(id))?.height !== undefined);

    const check = async (path: string, headers: Record<string, string> = {}) => {
      const answer = await gateway.get(path, headers);
      const input = answer.headers.get('signature-input')?.replace(/^sig1=/, '') ?? '';
      const signature = /^sig1=:(.*):$/.exec(answer.headers.get('signature') ?? '')?.[1] ?? '';
      const keyId = /keyid="ed25519:([^"]+)"/.exec(input)?.[1] ?? '';
      const components = /^\(([^)]*)\)/.exec(input)?.[1]?.split(' ') ?? [];
      const lines = components.map((component) => {
        const [name = '', request] = component.replaceAll('"', '').split(';');
        const value =
          name === '@status'
            ? String(answer.status)
            : request === 'req'
              ? { '@method': 'GET', '@path': path.split('?')[0] }[name]
              : answer.headers.get(name);
        return `${component}: ${value}`;
      });
      const base = [...lines, `"@signature-params": ${input}`].join('\n');
      const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: keyId }, format: 'jwk' });
      const holds = verify(null, Buffer.from(base), key, Buffer.from(signature, 'base64'));
      return { holds, components, answer };
    };
    for (const path of [`/raw/${id}`, `/raw/${id}`, `/raw/${id}?again=1`, `/${id}`]) {
      const { holds, components, answer } = await check(path);
      assert.equal(holds, true, path);
      assert.equal(answer.body, 'signed bytes');
      for (const covered of ['"@status"', '"x-ar-io-data-id"', '"content-type"', '"@path";req']) {
        assert.ok(components.includes(covered), `${path} covers ${covered}`);
      }
    }
    const cached = await until('it is cached', async () => {
      const found = await check(`/raw/${id}`);
      return found.answer.headers.get('x-cache') === 'HIT' && found;
    });
    assert.ok(cached.holds && cached.components.includes('"content-digest"'));
    const part = await check(`/raw/${id}`, { range: 'bytes=0-3' });
    assert.ok(part.holds && part.answer.status === 206 && part.components.includes('"repr-digest"'));
    assert.equal(part.components.includes('"content-digest"'), false);
    const { offset } = JSON.parse((await gateway.get(`/tx/${id}/offset`)).body);
    for (const path of [`/chunk/${offset}`, `/chunk/${offset}/data`]) {
      const { holds, components, answer: chunk } = await check(path);
      assert.ok(holds, path);
      for (const covered of ['"content-digest"', '"x-arweave-chunk-data-root"', '"x-arweave-chunk-tx-id"']) {
        assert.ok(components.includes(covered), `${path} covers ${covered}`);
      }
      assert.equal(chunk.headers.get('content-digest'), `sha-256=:${hash('sha256', chunk.body, 'base64')}:`);
    }
    for (const path of ['/info', '/gw/healthcheck', `/raw/${'A'.repeat(43)}`]) {
      assert.equal((await gateway.get(path)).headers.get('signature'), null, `${path} says nothing of data`);
    }
    const info = JSON.parse((await gateway.get('/gw/info')).body);
    assert.equal(info.httpsig.algorithm, 'ed25519');
  });
});
