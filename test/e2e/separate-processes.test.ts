/** Gateway and upload service in processes of their own, which have nothing in common but what they are told. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { request } from 'undici';
import { itemOwner } from '../../src/wallets/data-items/owner.ts';
import { signItem, solanaSigner } from '../../src/wallets/data-items/signer.ts';
import { ed25519TestKey } from '../../src/wallets/testing/keys.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { startStack } from '../support/stack.ts';

test('a gateway serves and finds what an upload service elsewhere has just taken in', async (t) => {
  const signer = solanaSigner(ed25519TestKey('separate'));
  const port = await freePort();
  const ADMIN_API_KEY = 'the same for both of them';
  const gateway = await startStack({
    only: ['gateway'],
    environment: { ADMIN_API_KEY, UPLOAD_URL: `http://127.0.0.1:${port}/` },
  });
  t.after(() => gateway.stop());
  const upload = await startStack({
    only: ['upload', 'router'],
    environment: {
      MODERATION_FOLLOW_URL: `${gateway.urls.gateway}/`,
      MODERATION_FOLLOW_INTERVAL_MS: '100',
      ADMIN_API_KEY,
      UPLOAD_PORT: String(port),
      GATEWAY_URL: `${gateway.urls.gateway}/`,
      ARWEAVE_NODE_URLS: gateway.urls.arweave ?? '',
      ALLOW_LISTED_ADDRESSES: itemOwner(4, signer.owner).wallet.address,
    },
  });
  t.after(() => upload.stop());

  const data = Buffer.from('taken in over there, read over here');
  const body = await signItem({ data }, signer);
  const answer = await request(`${upload.urls.upload}/v1/tx`, { method: 'POST', body });
  const receipt = JSON.parse(await answer.body.text());
  assert.equal(answer.statusCode, 200, JSON.stringify(receipt));
  const host = new URL(gateway.urls.gateway ?? '').host;
  assert.deepEqual(receipt.dataCaches, [host]);
  const info = await request(`${upload.urls.upload}/v1/info`);
  assert.equal(JSON.parse(await info.body.text()).gateway, gateway.urls.gateway);

  const read = await request(`${gateway.urls.gateway}/raw/${receipt.id}`);
  assert.equal(read.statusCode, 200);
  assert.deepEqual(Buffer.from(await read.body.arrayBuffer()), data);
  const query = `query { transactions(ids: ["${receipt.id}"]) { edges { node { id } } } }`;
  for (let tries = 0; ; tries += 1) {
    const found = await request(`${gateway.urls.gateway}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query }),
    });
    if ((await found.body.text()).includes(`"id":"${receipt.id}"`)) break;
    assert.ok(tries < 600, `the gateway was not told\n${upload.log()}`);
    await sleep(100);
  }

  // What is blocked there is blocked here too, as soon as it is asked for again.
  const change = async (action: string) => {
    const changed = await request(`${gateway.urls.gateway}/gw/admin/${action}`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${ADMIN_API_KEY}`, 'content-type': 'application/json' },
      body: JSON.stringify({ id: receipt.id }),
    });
    return JSON.parse(await changed.body.text()).obeyedBy;
  };
  const statuses = async () =>
    Promise.all(
      [`${upload.urls.upload}/v1/data-item/${receipt.id}`, `${upload.urls.router}/raw/${receipt.id}`].map(
        async (url) => {
          const got = await request(url);
          await got.body.dump();
          return got.statusCode;
        },
      ),
    );
  await eventually('both serve it', async () => String(await statuses()) === '200,200');
  assert.deepEqual(await change('block-data'), [
    'gateway',
    'upload (another process, within 0.1 s)',
    'router (another process, within 0.1 s)',
  ]);
  await eventually('neither does', async () => String(await statuses()) === '451,403');
  await change('unblock-data');
  await eventually('both serve it again', async () => String(await statuses()) === '200,200');
  await change('block-data');
  await eventually('neither does', async () => String(await statuses()) === '451,403');
  await gateway.end();
  assert.deepEqual(await statuses(), [451, 403], 'the last list holds while the gateway is away');
  await eventually('the router says that the list may be old', async () => {
    const health = await request(`${upload.urls.router}/router/health`);
    return (await health.body.text()).includes('blocklist of');
  });
});
