import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { eventually } from '../../../test/support/eventually.ts';
import { seededRandom } from '../../../test/support/seeded-random.ts';
import { itemOwner } from '../../wallets/data-items/owner.ts';
import { signItem, solanaSigner } from '../../wallets/data-items/signer.ts';
import { ed25519TestKey } from '../../wallets/testing/keys.ts';
import { startTestUpload } from '../testing.ts';

const signer = solanaSigner(ed25519TestKey('pay once'));
const { address } = itemOwner(4, signer.owner).wallet;

test('a transaction that a node may have taken is not replaced while it can still be mined', async (t) => {
  const offered: string[] = [];
  const node = { height: 1_500_000, isHeard: false };
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const asked = `${request.method} ${request.url}`;
      if (asked === 'POST /tx') {
        offered.push(String(JSON.parse(Buffer.concat(parts).toString()).id));
        // The first answer is lost; later ones say no.
        if (node.isHeard) response.writeHead(400).end('Transaction verification failed.');
        else response.destroy();
        node.isHeard = true;
      } else if (asked === 'GET /height') response.end(String(node.height));
      else if (asked === 'GET /tx_anchor') response.end(Buffer.alloc(48, 7).toString('base64url'));
      else if (asked.startsWith('GET /price/')) response.end('1000');
      else if (asked.includes('/balance')) response.end('1000000000000');
      else response.writeHead(404).end('Not Found');
    });
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const place = server.address();
  assert.ok(place !== null && typeof place === 'object');
  let now = Date.now();
  const upload = await startTestUpload(
    { BUNDLE_MAX_WAIT_MS: '0', BUNDLE_POLL_MS: '10' },
    { arweaveNodeUrls: [`http://127.0.0.1:${place.port}`], now: () => now },
  );
  t.after(async () => {
    await upload.close();
    server.closeAllConnections();
    server.close();
  });
  await upload.give(address, 'solana', 10n ** 12n);
  await upload.post('/v1/tx', await signItem({ data: seededRandom(9).bytes(500) }, signer));
  await eventually('several offers', async () => {
    now += 600_000;
    return offered.length >= 6;
  });
  assert.equal(new Set(offered).size, 1, 'the same transaction each time');
  // Its anchor is dead, and no node knows it: now it is lost for certain.
  node.height += 60;
  await eventually('another transaction', async () => {
    now += 600_000;
    return new Set(offered).size === 2;
  });
});
