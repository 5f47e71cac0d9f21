/** Loans and the service they are for: an item is public, and whoever has it may bring it to another service. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { itemOwner } from '../../wallets/data-items/owner.ts';
import {
  arweaveSigner,
  ethereumSigner,
  type ItemSigner,
  signItem,
  solanaSigner,
} from '../../wallets/data-items/signer.ts';
import { ed25519TestKey, ethereumTestKey, testArweaveKey } from '../../wallets/testing/keys.ts';
import { startTestUpload, type TestUpload } from '../testing.ts';

const treasury = 'TreasuryTreasuryTreasuryTreasuryTreasuryTr0';
const lenders: readonly ItemSigner[] = [
  arweaveSigner(testArweaveKey),
  ethereumSigner(ethereumTestKey('lender')),
  solanaSigner(ed25519TestKey('lender')),
];
const borrower = '0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A';
const given = 1_000_000n;
let salt = 0;

function item(signer: ItemSigner, tags: Record<string, string>): Promise<Buffer> {
  salt += 1;
  const list = Object.entries(tags).map(([name, value]) => ({ name, value }));
  return signItem({ data: Buffer.from(`loan ${salt}`), tags: list }, signer);
}

const lend = (service?: string) => ({
  'x-approve-payment': borrower,
  'x-amount': '1000',
  ...(service !== undefined && { 'x-service-address': service }),
});
const revoke = (service?: string) => ({
  'x-delete-payment-approval': borrower,
  ...(service !== undefined && { 'x-service-address': service }),
});

async function fund(upload: TestUpload): Promise<void> {
  for (const signer of lenders) {
    const { address, kind } = itemOwner(signer.signatureType, signer.owner).wallet;
    await upload.give(address, kind, given);
  }
}

const addressOf = (signer: ItemSigner) => itemOwner(signer.signatureType, signer.owner).wallet.address;

describe('a loan that names a service', () => {
  let upload: TestUpload;
  let strict: TestUpload;
  before(async () => {
    upload = await startTestUpload({ ARWEAVE_ADDRESS: treasury });
    strict = await startTestUpload({ REQUIRE_BOUND_SIGNATURES: 'true' });
    await fund(upload);
    await fund(strict);
  });
  after(async () => {
    await upload.close();
    await strict.close();
  });

  /** Refused, and nothing has changed. */
  async function refused(at: TestUpload, signer: ItemSigner, tags: Record<string, string>, words: RegExp) {
    const before = [await at.counts(), await at.balance(addressOf(signer))];
    const loans = await at.credits.approvals(addressOf(signer), borrower);
    const answer = await at.post('/v1/tx', await item(signer, tags));
    assert.equal(answer.status, 400, JSON.stringify(answer.body));
    assert.match(String(answer.body), words);
    assert.deepEqual([await at.counts(), await at.balance(addressOf(signer))], before);
    assert.deepEqual(await at.credits.approvals(addressOf(signer), borrower), loans);
  }

  test('is made and taken back there, and is refused, uncharged, everywhere else', async () => {
    for (const signer of lenders) {
      const other = 'OtherServiceOtherServiceOtherServiceOtherS0';
      await refused(upload, signer, lend(other), /create delegated.*for another service/);
      await refused(upload, signer, lend(''), /for another service/);
      for (const service of [testArweaveKey.address, treasury, undefined]) {
        const made = await upload.post('/v1/tx', await item(signer, lend(service)));
        assert.equal(made.at('createdApproval.approvedWincAmount'), '1000', JSON.stringify(made.body));
      }
      await refused(upload, signer, revoke(other), /revoke delegated.*for another service/);
      const taken = await upload.post('/v1/tx', await item(signer, revoke(testArweaveKey.address)));
      assert.equal(taken.at('revokedApprovals.length'), 3);
    }
  });

  test('is the only one where every signature must name its service', async () => {
    for (const signer of lenders) {
      await refused(strict, signer, lend(), /x-service-address with this service's address is missing/);
      const made = await strict.post('/v1/tx', await item(signer, lend(testArweaveKey.address)));
      assert.equal(made.at('createdApproval.approvedWincAmount'), '1000', JSON.stringify(made.body));
      await refused(strict, signer, revoke(), /x-service-address/);
      const taken = await strict.post('/v1/tx', await item(signer, revoke(testArweaveKey.address)));
      assert.equal(taken.at('revokedApprovals.length'), 1);
      // What lends nothing needs no tag.
      assert.equal((await strict.post('/v1/tx', await item(signer, {}))).status, 200);
    }
  });
});
