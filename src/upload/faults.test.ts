import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '../../test/support/seeded-random.ts';
import { OracleUnavailable } from '../pricing/pricing.ts';
import { type BlobStore, BlobStoreUnavailable } from '../storage/blobs/blobs.ts';
import { losing } from '../storage/sql/testing.ts';
import { itemOwner } from '../wallets/data-items/owner.ts';
import { signItem, solanaSigner } from '../wallets/data-items/signer.ts';
import { ed25519TestKey } from '../wallets/testing/keys.ts';
import { startTestUpload, type TestUpload } from './testing.ts';

const signer = solanaSigner(ed25519TestKey('faults'));
const { address } = itemOwner(4, signer.owner).wallet;
const random = seededRandom(95);
const given = 10n ** 12n;

async function withUpload(
  deps: Parameters<typeof startTestUpload>[1],
  work: (upload: TestUpload) => Promise<void>,
): Promise<void> {
  const upload = await startTestUpload({ BUNDLE_POLL_MS: '3600000' }, deps);
  try {
    await upload.give(address, 'solana', given);
    await work(upload);
  } finally {
    await upload.close();
  }
}

/** A store that runs out of room after so many bytes. */
function fullStore(room: number): BlobStore {
  const refuse = () => Promise.reject(new BlobStoreUnavailable('no space left on device'));
  return {
    async writer() {
      let written = 0;
      return {
        write: (bytes) => {
          written += bytes.length;
          return written > room ? refuse() : Promise.resolve();
        },
        commit: refuse,
        abort: async () => {},
      };
    },
    put: refuse,
    open: async () => undefined,
    size: async () => undefined,
    delete: async () => false,
    close: async () => {},
  };
}

for (const room of [0, 1_000_000]) {
  test(`a disk that is full after ${room} bytes refuses the item, charges nothing, and may be tried again`, async () => {
    await withUpload({ blobs: fullStore(room) }, async (upload) => {
      const answer = await upload.post('/v1/tx', await signItem({ data: random.bytes(500_000) }, signer));
      assert.equal(answer.status, 503);
      assert.match(String(answer.body), /Object Store is unreachable$/);
      assert.ok(Number(answer.headers['retry-after']) > 0);
      assert.equal(await upload.balance(address), given);
      assert.equal((await upload.counts()).upload_items, 0);
      const small = await upload.post('/v1/tx', await signItem({ data: random.bytes(500) }, signer));
      assert.equal(small.status, 200, 'small items need no blob');
    });
  });
}

test('a database that is away is 503, and nothing is acknowledged', async () => {
  let away = false;
  await withUpload(
    ({ sql }) => ({
      sql: losing(sql, (statement) => away && statement === ''),
    }),
    async (upload) => {
      away = true;
      for (const bytes of [500, 100_000]) {
        const answer = await upload.post('/v1/tx', await signItem({ data: random.bytes(bytes) }, signer));
        assert.equal(answer.status, 503, String(bytes));
        assert.match(String(answer.body), /Payment Service is unreachable$/);
      }
      away = false;
      assert.equal(await upload.balance(address), given);
      assert.equal((await upload.counts()).upload_items, 0);
    },
  );
});

test('without a price nothing is taken in', async () => {
  const down = () => Promise.reject(new OracleUnavailable('network', 9));
  await withUpload(
    () => ({
      pricing: {
        quoteBytes: down,
        knownBytesQuote: () => undefined,
        quoteFiat: down,
        quoteToken: down,
        quotePurchase: down,
        fiatOf: down,
        usdcFor: down,
        wincForUsdc: down,
        gibibyteRates: down,
        limits: down,
        rates: down,
        promoUses: { holdIn: down, useIn: down, releaseIn: down },
        oracleAges: () => ({ rates: undefined, network: undefined }),
        problems: async () => ['No price of storage is known.'],
      },
    }),
    async (upload) => {
      for (const answer of [
        await upload.post('/v1/tx', await signItem({ data: random.bytes(500) }, signer)),
        await upload.get('/v1/price/arweave/1000'),
      ]) {
        assert.equal(answer.status, 503);
        assert.deepEqual(answer.body, 'Pricing Oracle Unavailable');
        assert.equal(answer.headers['retry-after'], '9');
      }
      assert.equal((await upload.counts()).upload_items, 0);
    },
  );
});

test('a chain that was never heard of gives no deadline, so nothing is promised', async () => {
  await withUpload({ arweaveNodeUrls: ['http://127.0.0.1:9'] }, async (upload) => {
    const answer = await upload.post('/v1/tx', await signItem({ data: random.bytes(500) }, signer));
    assert.equal(answer.status, 503);
    assert.match(String(answer.body), /Unable to sign receipt/);
    assert.equal(await upload.balance(address), given);
  });
});
