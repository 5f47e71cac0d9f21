/** Random sequences of payments, replays, uploads and lapses: no wallet ever has less than it had before. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { type SeededRandom, seededRandom } from '../../../test/support/seeded-random.ts';
import { costOf, openX402World, payer, type X402World } from '../../../test/support/x402-uploads.ts';
import { winc } from '../../credits/credits.ts';
import { returnAbandoned } from '../../payments/x402/purchases.ts';
import { forEachEngine } from '../../storage/sql/testing.ts';
import { itemOwner } from '../../wallets/data-items/owner.ts';
import { signItem, solanaSigner } from '../../wallets/data-items/signer.ts';
import { solanaAddress } from '../../wallets/solana/address.ts';
import { ed25519RawPublicKey } from '../../wallets/solana/ed25519.ts';
import { ed25519TestKey } from '../../wallets/testing/keys.ts';
import { expireSessions } from '../multipart/sessions.ts';
import { type TestUpload, testMigrations } from '../testing.ts';

const signer = solanaSigner(ed25519TestKey('never charged'));
const wallets = [
  payer,
  itemOwner(4, signer.owner).wallet.address,
  solanaAddress(ed25519RawPublicKey(ed25519TestKey('bystander'))),
];
const owned = 50_000n;
const key = 'a-key-that-nobody-guesses';
const later = 10 * 86_400_000;

interface Actors {
  readonly world: X402World;
  readonly processes: readonly TestUpload[];
  readonly items: readonly Buffer[];
  readonly payments: { readonly headers: Record<string, string>; readonly item: Buffer }[];
  readonly sessions: Set<string>;
}

async function step(random: SeededRandom, actors: Actors): Promise<string> {
  const { world, items, payments, sessions } = actors;
  const upload = random.pick(actors.processes);
  if (payments.length === 0 || random.below(4) === 0) {
    const item = random.pick(items);
    payments.push({ headers: world.pay(costOf(item.length)), item });
  }
  const { headers, item } = random.pick(payments);
  const address = random.pick([...wallets, undefined]);
  switch (random.below(6)) {
    case 0:
    case 1: {
      const named = random.below(2) === 0 ? {} : { 'idempotency-key': key };
      const query = `totalBytes=${item.length}${address === undefined ? '' : `&address=${address}`}`;
      const begun = await upload.get(`/v1/chunks/base-usdc/-1/-1?${query}`, { ...headers, ...named });
      assert.ok([200, 402, 409].includes(begun.status), begun.bytes.toString());
      if (begun.status === 200) sessions.add(String(begun.body.id));
      return `begin ${begun.status}`;
    }
    case 2:
    case 3: {
      const id = random.pick([...sessions, 'none']);
      const bytes = random.below(4) === 0 ? random.bytes(100) : random.pick(items);
      const put = await upload.post(`/v1/chunks/base-usdc/${id}/0`, bytes);
      const done = await upload.post(`/v1/chunks/base-usdc/${id}/-1`, Buffer.alloc(0));
      assert.ok(put.status < 500 && done.status < 500, done.bytes.toString());
      return `put ${put.status} and finalize ${done.status}`;
    }
    case 4: {
      const path = random.pick(['/v1/tx', '/v1/x402/upload/signed', '/v1/x402/upload/unsigned']);
      const answer = await upload.post(path, random.pick([item, random.pick(items)]), headers);
      assert.ok(answer.status < 500, answer.bytes.toString());
      return `${path} ${answer.status}`;
    }
    default: {
      const now = upload.clock + random.below(2) * later;
      const expired = await expireSessions(upload.sql, upload.credits, 10, now);
      const returned = await returnAbandoned(upload.sql, upload.credits, now - later / 2, 10);
      return `expire ${expired} and return ${returned}`;
    }
  }
}

forEachEngine((_engine, open) => {
  for (const seed of [1, 2, 3]) {
    it(`nobody is charged by what others show (seed ${seed})`, async (t) => {
      const random = seededRandom(seed);
      const environment = { BUNDLE_POLL_MS: '3600000' };
      const world = await openX402World(t, { sql: await open(testMigrations), environment });
      const { upload } = world;
      for (const address of wallets) {
        await upload.credits.credit({
          address,
          addressType: 'any',
          amount: winc(owned),
          reason: 'admin_credit',
          id: address,
        });
      }
      const items = await Promise.all(
        [300, 300, 9_000].map((bytes) => signItem({ data: random.bytes(bytes) }, signer)),
      );
      const processes = [upload, await world.another()];
      const actors: Actors = { world, processes, items, payments: [], sessions: new Set() };
      const did: string[] = [];
      for (let count = 0; count < 60; count += 1) {
        const steps = Array.from({ length: 1 + random.below(3) }, () =>
          step(seededRandom(random.below(1_000_000)), actors),
        );
        did.push(...(await Promise.all(steps)));
        for (const address of wallets) {
          const balance = await upload.balance(address);
          assert.ok(balance >= owned, `${address} has ${balance} after ${did.slice(-4).join(', ')}`);
        }
      }
      const balances = await Promise.all(wallets.map((address) => upload.balance(address)));
      const gained = balances.reduce((sum, balance) => sum + balance - owned, 0n);
      const taken = await upload.sql.all<{ amount: string }>(
        "SELECT amount FROM credits_spendings WHERE state <> 'refunded'",
      );
      const bought = taken.reduce((sum, { amount }) => sum + BigInt(amount), 0n);
      assert.equal(await world.spent(), gained + bought, 'every dollar is credits or an upload');
      assert.ok(bought > 0n, did.join());
      assert.equal((await upload.credits.selfCheck()).ok, true);
    });
  }
});
