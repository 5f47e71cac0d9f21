/** The index routes of a gateway that signs its answers (RFC 9421): what serves bytes is signed, what refuses is not. */
import assert from 'node:assert/strict';
import { createPublicKey, verify } from 'node:crypto';
import { after, before, test } from 'node:test';
import { type AdminGateway, startAdminGateway } from '../../../../test/support/admin-gateway.ts';
import { until } from '../../../../test/support/local-gateway.ts';
import { encodeBase58 } from '../../../formats/base58.ts';
import { buildBands } from '../bands/build.ts';
import { indexFolders } from '../folders.ts';
import { type VerifiedPublication, verifyPublication } from '../publication/document.ts';
import { readObserver } from '../publication/observer.ts';
import { publisherOf } from '../publication/publisher.ts';

let gateway: AdminGateway;
let publication: VerifiedPublication;

before(async () => {
  gateway = await startAdminGateway({ overrides: { HTTPSIG_ENABLED: 'true' } });
  const { config, index } = gateway.inside;
  const observer = await readObserver(config);
  const { published } = indexFolders(config.DATA_DIR);
  await buildBands({ sql: index.sql, published, bandHeights: 1000, publisher: observer.address });
  await publisherOf(config, observer).publish();
  publication = await until('it is published', async () => {
    const answer = await fetch(`${gateway.url}/gw/indexes`);
    return answer.ok && verifyPublication(Buffer.from(await answer.arrayBuffer()));
  });
});
after(() => gateway.stop());

/** The components that a valid signature covers; undefined where there is none. */
async function covered(path: string, init: RequestInit = {}): Promise<string[] | undefined> {
  const answer = await fetch(`${gateway.url}${path}`, init);
  await answer.arrayBuffer();
  const signature = /^sig1=:(.*):$/.exec(answer.headers.get('signature') ?? '')?.[1];
  const input = answer.headers.get('signature-input')?.replace(/^sig1=/, '');
  if (signature === undefined || input === undefined) return undefined;
  const components = /^\(([^)]*)\)/.exec(input)?.[1]?.split(' ') ?? [];
  const values = new Map([
    ['"@status"', String(answer.status)],
    ['"@method";req', init.method ?? 'GET'],
    ['"@path";req', path],
  ]);
  const lines = components.map(
    (component) =>
      `${component}: ${values.get(component) ?? answer.headers.get(component.replaceAll('"', ''))}`,
  );
  const x = /keyid="ed25519:([^"]+)"/.exec(input)?.[1] ?? '';
  assert.equal(encodeBase58(Buffer.from(x, 'base64url')), publication.keyId, 'the observer key signs both');
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
  const base = [...lines, `"@signature-params": ${input}`].join('\n');
  assert.ok(verify(null, Buffer.from(base), key, Buffer.from(signature, 'base64')), path);
  return components;
}

test('the document and every way to a file are signed with their digests', async () => {
  const band = publication.indexes[0]?.bands[0];
  const file = band?.files[0];
  assert.ok(band?.http !== undefined && file !== undefined);
  const listing = await covered('/gw/indexes');
  assert.ok(listing?.includes('"content-digest"') && listing.includes('"x-ar-io-index-publication"'));
  for (const path of [
    `${band.http.baseUrl}${file.name}`,
    `/gw/indexes/blob/${file.sha256}`,
    `/ar-io/indexes/blob/${file.sha256}`,
  ]) {
    for (const method of ['GET', 'HEAD']) {
      const components = await covered(path, { method });
      for (const wanted of ['"content-digest"', '"repr-digest"', '"x-ar-io-index-file"', '"@path";req'])
        assert.ok(components?.includes(wanted), `${method} ${path} covers ${wanted}`);
    }
    const part = await covered(path, { headers: { range: 'bytes=0-1' } });
    assert.ok(part?.includes('"repr-digest"') && !part.includes('"content-digest"'), `a part of ${path}`);
  }
});

test('304 and refusals are not signed', async () => {
  const file = publication.indexes[0]?.bands[0]?.files[0];
  const blob = `/gw/indexes/blob/${file?.sha256}`;
  assert.equal(await covered(blob, { headers: { 'if-none-match': '*' } }), undefined);
  assert.equal(await covered('/gw/indexes', { headers: { 'if-none-match': '*' } }), undefined);
  assert.equal(await covered(blob, { headers: { range: 'bytes=x' } }), undefined);
  assert.equal(await covered(`/gw/indexes/blob/${'0'.repeat(64)}`), undefined);
});
