/** One finalizer at a time, and none that slept through its time: what it finds then is not its own any more. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, test } from 'node:test';
import { eventually } from '../../../test/support/eventually.ts';
import { seededRandom } from '../../../test/support/seeded-random.ts';
import { createCredits } from '../../credits/ledger/ledger.ts';
import { HttpError } from '../../kernel/errors.ts';
import type { Pricing } from '../../pricing/pricing.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import { forEachEngine } from '../../storage/sql/testing.ts';
import { itemOwner } from '../../wallets/data-items/owner.ts';
import { signItem, solanaSigner } from '../../wallets/data-items/signer.ts';
import { ed25519TestKey } from '../../wallets/testing/keys.ts';
import { FreeAllowanceUsedUp, uploadErrors } from '../errors.ts';
import { byteForWinc, startTestUpload, type TestUpload, testMigrations } from '../testing.ts';
import { type Claim, claimSession, keepClaim, LostClaim, markUnderfunded, renewClaim } from './claims.ts';
import { stateAfter } from './finalizer.ts';
import { closeSession, createSession } from './sessions.ts';

const random = seededRandom(518);
const none = Buffer.alloc(0);
const payers = { paidBy: [], clientAddress: '10.0.0.1' };
const minute = 60_000;

async function openSession(sql: Sql): Promise<string> {
  const limits = { maxOpen: 10, lifeMs: 86_400_000 };
  const session = { token: 'solana', chunkSize: undefined, clientAddress: '10.0.0.1' };
  return createSession(sql, session, limits, 0);
}

async function claimed(sql: Sql, id: string, now: number): Promise<Claim> {
  const claim = await claimSession(sql, id, payers, now);
  assert.ok(claim !== undefined);
  return claim;
}

const rowOf = (sql: Sql, id: string) => sql.get('SELECT * FROM upload_sessions WHERE id = ?', id);

describe('a claim on a session', () => {
  forEachEngine((_engine, open) => {
    it('is held by one at a time, and goes over when it is not renewed', async () => {
      const sql = await open(testMigrations);
      const id = await openSession(sql);
      const first = await claimed(sql, id, minute);
      assert.equal(await claimSession(sql, id, payers, minute + 1), undefined);
      assert.equal(await renewClaim(sql, first, 2 * minute), true);
      assert.equal(await claimSession(sql, id, payers, 2 * minute + 1), undefined);
      const second = await claimed(sql, id, 4 * minute);
      await sql.transaction((tx) => keepClaim(tx, second));
      await assert.rejects(
        sql.transaction((tx) => keepClaim(tx, first)),
        LostClaim,
      );
    });

    it('is not held for as long as the clock was ahead of who died with it', async () => {
      const sql = await open(testMigrations);
      const id = await openSession(sql);
      const ahead = await claimed(sql, id, 600 * minute);
      await claimed(sql, id, minute);
      await assert.rejects(
        sql.transaction((tx) => keepClaim(tx, ahead)),
        LostClaim,
      );
    });

    it('that is over changes nothing any more, whatever became of the session', async () => {
      const sql = await open(testMigrations);
      const credits = createCredits({ sql });
      const ends: ((id: string, claim: Claim) => Promise<unknown>)[] = [
        (_id, claim) => markUnderfunded(sql, claim, 'Insufficient balance', 5 * minute),
        (_id, claim) => closeSession(sql, credits, claim, { state: 'FINALIZED', itemId: 'item' }, 5 * minute),
        (_id, claim) => closeSession(sql, credits, claim, { state: 'INVALID' }, 5 * minute),
        (id) => claimed(sql, id, 10 * minute),
      ];
      for (const end of ends) {
        const id = await openSession(sql);
        const late = await claimed(sql, id, minute);
        const next = await claimed(sql, id, 4 * minute);
        await end(id, next);
        const before = await rowOf(sql, id);
        for (const claim of [late, ...(end === ends[3] ? [] : [next])]) {
          assert.equal(await renewClaim(sql, claim, 6 * minute), false);
          await markUnderfunded(sql, claim, 'late', 6 * minute);
          await closeSession(sql, credits, claim, { state: 'INVALID', failure: 'late' }, 6 * minute);
          await assert.rejects(
            sql.transaction((tx) => keepClaim(tx, claim)),
            LostClaim,
          );
        }
        assert.deepEqual(await rowOf(sql, id), before);
      }
    });
  });
});

test('the state of a session follows from the kind of refusal, not from its words', () => {
  const words = 'Invalid Data Item! Approval, create delegated, revoke delegated';
  assert.equal(stateAfter(new HttpError(400, words)), 'INVALID');
  assert.equal(stateAfter(new HttpError(400, 'Approval of nothing')), 'INVALID');
  assert.equal(stateAfter(uploadErrors.approvalFailed('why')), 'APPROVAL_FAILED');
  assert.equal(stateAfter(uploadErrors.approvalWithoutAmount()), 'APPROVAL_FAILED');
  assert.equal(stateAfter(uploadErrors.revokeFailed()), 'REVOKE_FAILED');
  assert.equal(stateAfter(uploadErrors.insufficientBalance()), 'UNDERFUNDED');
  assert.equal(stateAfter(new FreeAllowanceUsedUp(1)), 'UNDERFUNDED');
  assert.equal(stateAfter(uploadErrors.sessionBusy()), 'finalizing');
  assert.equal(stateAfter(new Error(words)), 'finalizing');
});

test('tags that cannot be followed end an upload in parts in the state that says so', async () => {
  const upload = await startTestUpload({ BUNDLE_POLL_MS: '3600000' });
  try {
    const signer = solanaSigner(ed25519TestKey('tags of parts'));
    await upload.give(itemOwner(4, signer.owner).wallet.address, 'solana', 10n ** 9n);
    const other = itemOwner(4, solanaSigner(ed25519TestKey('another')).owner).wallet.address;
    for (const [tags, state] of [
      [[{ name: 'x-approve-payment', value: other }], 'APPROVAL_FAILED'],
      [[{ name: 'x-delete-payment-approval', value: other }], 'REVOKE_FAILED'],
    ] as const) {
      const id = await begin(upload, await signItem({ data: random.bytes(100), tags }, signer));
      assert.equal((await finalize(upload, id)).status, 400);
      assert.equal((await upload.get(`/v1/chunks/solana/${id}/status`)).body.status, state);
    }
  } finally {
    await upload.close();
  }
});

const finalize = (upload: TestUpload, id: string) => upload.post(`/v1/chunks/solana/${id}/-1`, none);

async function begin(upload: TestUpload, item: Buffer): Promise<string> {
  const id = String((await upload.get('/v1/chunks/solana/-1/-1')).body.id);
  assert.equal((await upload.post(`/v1/chunks/solana/${id}/0`, item)).status, 200);
  return id;
}

describe('a finalizer that sleeps through its time', () => {
  forEachEngine((_engine, open) => {
    /** One surface that stops before it asks for a price, and another that goes on with its sessions. */
    const withSleeper = async (
      work: (world: {
        sleeper: TestUpload;
        other: TestUpload;
        asleep: Promise<void>;
        wake(): void;
        pass(ms: number): void;
      }) => Promise<void>,
    ) => {
      const sql = await open(testMigrations);
      const folder = mkdtempSync(join(tmpdir(), 'turnpike-claims-'));
      const environment = { BUNDLE_POLL_MS: '3600000' };
      let now = 1_700_000_000_000;
      const asleep = Promise.withResolvers<void>();
      const awake = Promise.withResolvers<void>();
      const stopping = (pricing: Pricing): Pricing => ({
        ...pricing,
        async quoteBytes(...asked) {
          asleep.resolve();
          await awake.promise;
          return pricing.quoteBytes(...asked);
        },
      });
      const clock = { now: () => now };
      const sleeper = await startTestUpload(
        environment,
        (ledger) => ({ ...clock, pricing: stopping(byteForWinc(ledger)) }),
        { sql, folder },
      );
      const other = await startTestUpload(
        environment,
        (ledger) => ({ ...clock, pricing: byteForWinc(ledger) }),
        { sql, folder },
      );
      try {
        await work({
          sleeper,
          other,
          asleep: asleep.promise,
          wake: () => awake.resolve(),
          pass: (ms) => {
            now += ms;
          },
        });
      } finally {
        awake.resolve();
        await sleeper.close();
        await other.close();
        rmSync(folder, { recursive: true, force: true });
      }
    };

    it('stores nothing and charges nobody when the upload has other parts since', async () => {
      await withSleeper(async ({ sleeper, other, asleep, wake, pass }) => {
        const signer = solanaSigner(ed25519TestKey('sleeper'));
        const wallet = itemOwner(4, signer.owner).wallet.address;
        const [old, renewed] = [
          await signItem({ data: random.bytes(30_000) }, signer),
          await signItem({ data: random.bytes(30_000) }, signer),
        ];
        const id = await begin(other, old);
        // Another upload keeps the same bytes: that they are there says nothing about whose they are.
        await begin(other, old);
        const answer = finalize(sleeper, id);
        await asleep;
        pass(61_000);
        assert.equal((await finalize(other, id)).status, 402);
        assert.equal((await other.post(`/v1/chunks/solana/${id}/0`, renewed)).status, 200);
        await other.give(wallet, 'solana', 10n ** 9n);
        wake();
        assert.equal((await answer).status, 503);
        assert.equal((await other.counts()).upload_items, 0);
        assert.equal(await other.balance(wallet), 10n ** 9n);
        assert.equal((await other.get(`/v1/chunks/solana/${id}/status`)).body.status, 'UNDERFUNDED');
        const done = await finalize(other, id);
        assert.equal(done.status, 200, done.bytes.toString());
        assert.ok((await other.get(`/v1/data-item/${done.body.id}`)).bytes.equals(renewed));
        assert.equal(await other.balance(wallet), 10n ** 9n - BigInt(renewed.length));
      });
    });

    it('leaves an upload finalized that another finalized meanwhile, for one price', async () => {
      await withSleeper(async ({ sleeper, other, asleep, wake, pass }) => {
        const signer = solanaSigner(ed25519TestKey('once'));
        const wallet = itemOwner(4, signer.owner).wallet.address;
        const item = await signItem({ data: random.bytes(30_000) }, signer);
        // Enough for one price: the second to ask for it would find nothing left.
        await other.give(wallet, 'solana', BigInt(item.length));
        const id = await begin(other, item);
        const answer = finalize(sleeper, id);
        await asleep;
        pass(61_000);
        const done = await finalize(other, id);
        assert.equal(done.status, 200, done.bytes.toString());
        wake();
        await answer;
        assert.equal((await other.get(`/v1/chunks/solana/${id}/status`)).body.status, 'FINALIZED');
        assert.equal(await other.balance(wallet), 0n);
        assert.equal((await other.counts()).upload_items, 1);
        assert.deepEqual((await finalize(sleeper, id)).body, done.body);
        await eventually('the parts to be the item alone', async () => {
          const uses = await other.sql.all<{ uses: number }>('SELECT uses FROM upload_blobs');
          return uses.length === 1 && uses[0]?.uses === 1;
        });
      });
    });
  });
});
