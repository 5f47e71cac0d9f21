import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '../../test/support/seeded-random.ts';
import { addRow } from '../pricing/catalogue/rows.ts';
import { signItem, solanaSigner } from '../wallets/data-items/signer.ts';
import { ed25519TestKey } from '../wallets/testing/keys.ts';
import { byteForWinc, startTestUpload } from './testing.ts';

const random = seededRandom(401);
const signer = solanaSigner(ed25519TestKey('thrifty'));
const makeItem = () => signItem({ data: random.bytes(1_000) }, signer);

test('items that a limited discount makes free are counted, whoever is named as payer and however many come at once', async (t) => {
  const upload = await startTestUpload({ FREE_UPLOAD_LIMIT: '0' }, (ledger) => ({
    pricing: byteForWinc(ledger),
  }));
  t.after(() => upload.close());
  const items = await Promise.all(Array.from({ length: 12 }, makeItem));
  const size = BigInt(items[0]?.length ?? 0);
  const limit = { wincLimitation: 4n * size, limitIntervalMs: 86_400_000 };
  await addRow(
    upload.sql,
    { kind: 'upload', name: 'Free', operator: 'multiply', magnitude: '0', ...limit },
    0,
  );

  const answers = await Promise.all(
    items.map((item, index) =>
      upload.post('/v1/tx', item, { 'x-paid-by': `0x${String(index).padStart(40, '1')}` }),
    ),
  );
  const statuses = answers.map(({ status }) => status);
  assert.equal(statuses.filter((status) => status === 200).length, 4, statuses.join());
  assert.equal(statuses.filter((status) => status === 402).length, 8, statuses.join());
  assert.equal((await upload.counts()).upload_items, 4);
  assert.equal((await upload.credits.selfCheck()).ok, true);
});
