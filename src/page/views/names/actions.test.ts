import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '../../services/console.ts';
import type { ActionStatus } from '../../services/names.ts';
import { type Wallet, WalletRefused } from '../../wallet/wallet.ts';
import { isOpen, type NameAction, stepsOf } from './action.ts';
import { ownerProofText } from './owner-proof.ts';
import { createActionSteps, type NameService } from './run-action.ts';

const id = '11111111-1111-4111-8111-111111111111';
const antId = 'US517G5965aydkZ46HS38QLi7UQiSojurfbQfKCELFx';
const transactionId = 'T9_V2HfiAq5qlLzObfyayj2-cjPujxpg25TRi4OZbe4';
const service = 'LudA6glCd-BgVeKGscDJ5ZyBotQiDYWj_2UtKpOQnxM';

const action: NameAction = {
  id,
  way: 'credits',
  action: 'buy-name',
  name: 'my-name',
  body: { name: 'my-name', ownerAddress: 'owner', type: 'lease', years: 1 },
  payer: { kind: 'solana', address: 'owner', label: 'test' },
  owner: 'owner',
  asksOwner: true,
  stage: 'agreed',
  createdAt: 0,
  changedAt: 0,
  price: '5',
};
const status = (more: Partial<ActionStatus>): ActionStatus => ({
  nonce: id,
  action: 'buy-name',
  status: 'awaiting-signature',
  wincQty: '5',
  ...more,
});

const wallet: Wallet = {
  kind: 'solana',
  address: 'owner',
  label: 'test',
  source: 'made',
  signatureType: 4,
  publicKey: async () => new Uint8Array(32),
  signItem: async () => new Uint8Array(64),
  signText: async () => new Uint8Array(64),
  signRequest: async ({ nonce, boundTo } = {}) => ({
    'x-nonce': nonce ?? '',
    'x-bound': boundTo?.path ?? '',
  }),
  signSolanaTransaction: async (bytes) => bytes,
};

/** Steps over a service that answers as told, and what was kept, in order. */
function bench(answers: Partial<NameService>) {
  const kept: NameAction[] = [];
  let time = 0;
  const calls: string[] = [];
  const unasked = async () => assert.fail('not asked for');
  const steps = createActionSteps({
    service: {
      serviceAddress: async () => service,
      createAction: unasked,
      actionStatus: unasked,
      signAction: unasked,
      freshTransaction: unasked,
      cardPurchase: unasked,
      ...answers,
    },
    keep: async (next) => void kept.push(next),
    now: () => time,
  });
  return {
    steps,
    kept,
    calls,
    stages: () => kept.map(({ stage }) => stage),
    wait: (ms: number) => (time += ms),
  };
}

test('an action is kept as sent before the service hears of it, with its own id as the nonce', async () => {
  let keptThen: string[] = [];
  const { steps, stages } = bench({
    createAction: async (_, body, headers) => {
      keptThen = stages();
      assert.deepEqual(JSON.parse(body), action.body);
      assert.deepEqual([headers['x-nonce'], headers['x-bound']], [id, '/v1/arns/actions/buy-name']);
      return status({ transaction: 'AAAA', antId });
    },
    signAction: async () => status({ status: 'completed', messageId: 'signature' }),
  });
  const waiting = await steps.send(action, wallet, wallet);
  assert.deepEqual(keptThen, ['sent']);
  assert.deepEqual(
    [waiting.stage, waiting.antId, 'transaction' in (waiting.told ?? {})],
    ['awaiting-owner', antId, false],
  );
  const done = await steps.sign(waiting, 'AAAA', wallet);
  assert.deepEqual([done.stage, done.messageId, isOpen(done)], ['completed', 'signature', false]);
  assert.deepEqual(stages(), ['sent', 'awaiting-owner', 'owner-signed', 'completed']);
});

test('a wallet that refuses sends nothing; at the second signature the action stays open', async () => {
  const no = async () => {
    throw new WalletRefused('no');
  };
  const { steps } = bench({});
  const declined = await steps.send(action, { ...wallet, signRequest: no }, wallet);
  assert.deepEqual([declined.stage, isOpen(declined)], ['declined', false]);
  const awaiting = { ...action, stage: 'awaiting-owner' as const };
  const still = await steps.sign(awaiting, 'AAAA', { ...wallet, signSolanaTransaction: no });
  assert.deepEqual([still.stage, still.problem, isOpen(still)], ['awaiting-owner', 'no', true]);
});

test('a refusal ends it with the reason; silence does not', async () => {
  const refused = bench({
    createAction: async () => {
      throw new ServiceError(402, 'Insufficient balance');
    },
  });
  const failed = await refused.steps.send(action, wallet, undefined);
  assert.deepEqual([failed.stage, failed.problem], ['failed', 'Insufficient balance']);

  let known: ActionStatus | undefined;
  const silent = bench({
    createAction: async () => {
      throw new ServiceError(0, 'no answer');
    },
    actionStatus: async () => known,
  });
  const sent = await silent.steps.send(action, wallet, undefined);
  assert.equal(sent.stage, 'sent');
  known = status({ status: 'completed', messageId: 'm' });
  assert.equal((await silent.steps.follow(sent)).stage, 'completed');
  known = undefined;
  silent.wait(100_000);
  assert.equal((await silent.steps.follow(sent)).stage, 'unsent');
});

test('a signature that comes too late is told as the service tells it', async () => {
  const { steps } = bench({
    signAction: async () => {
      throw new ServiceError(409, 'expired. Your credits have been returned.');
    },
    actionStatus: async () => status({ status: 'expired', failedReason: 'too late' }),
  });
  const late = await steps.sign({ ...action, stage: 'awaiting-owner' }, 'AAAA', wallet);
  assert.deepEqual([late.stage, late.problem], ['expired', 'too late']);
});

test('where the owner signs first, what is too late or was changed by a wallet is signed again', async () => {
  const told = status({ signOrder: 'owner-first' });
  const awaiting: NameAction = { ...action, stage: 'awaiting-owner', told };
  const late = bench({
    signAction: async () => status({ signOrder: 'owner-first', transaction: 'BBBB' }),
    actionStatus: async () => told,
    freshTransaction: async (nonce, serviceFirst) => {
      assert.deepEqual([nonce, serviceFirst], [id, false]);
      return status({ signOrder: 'owner-first', transaction: 'CCCC' });
    },
  });
  const again = await late.steps.sign(awaiting, 'AAAA', wallet);
  assert.equal(again.stage, 'awaiting-owner');
  assert.match(again.problem ?? '', /came too late/);
  assert.equal(await late.steps.transactionOf(again), 'CCCC', 'one that can be signed now');

  const changed = bench({
    signAction: async () => {
      throw new ServiceError(
        400,
        'transaction is not the one that was handed out: sign it without changing it',
      );
    },
    freshTransaction: async (_, serviceFirst) => {
      assert.equal(serviceFirst, true);
      return status({ transaction: 'DDDD' });
    },
  });
  const other = await changed.steps.sign(awaiting, 'AAAA', wallet);
  assert.deepEqual([other.stage, other.told?.signOrder], ['awaiting-owner', undefined]);
  assert.match(other.problem ?? '', /Your wallet changed the transaction/);
});

test('a card purchase is followed by its own nonce', async () => {
  const card = { nonce: 'quote', quoteExpirationDate: '', url: 'https://pay' };
  const paying: NameAction = { ...action, way: 'card', stage: 'paying', card };
  const base = { nonce: 'quote', paymentAmount: 1, currencyType: 'usd', quoteExpirationDate: '' };
  const { steps } = bench({
    cardPurchase: async (nonce) => {
      assert.equal(nonce, 'quote');
      return { ...base, status: 'CONFIRMED', messageId: 'm', antId };
    },
  });
  const done = await steps.follow(paying);
  assert.deepEqual([done.stage, done.messageId, done.antId], ['completed', 'm', antId]);
});

test('the owner signs the lines that the service reads', () => {
  assert.equal(
    ownerProofText('set-record', { antId, undername: '@', transactionId, ttlSeconds: 3600 }, id, service),
    ['turnpike owner proof', service, 'arns', 'set-record', antId, '@', transactionId, '3600', id].join('\n'),
  );
  assert.equal(
    ownerProofText('remove-record', { antId, undername: 'docs' }, id, undefined),
    `arns\nremove-record\n${antId}\ndocs${id}`,
  );
  assert.equal(
    ownerProofText(
      'set-record-metadata',
      { antId, undername: '@', displayName: null, recordKeywords: ['a', 'b'] },
      id,
      undefined,
    ),
    `arns\nset-record-metadata\n${antId}\n@\n\u0000\n\u0002\n\u0002\na\u0001b${id}`,
  );
  assert.throws(() => ownerProofText('transfer-record', { antId, undername: 'docs' }, id, undefined));
});

test('the steps say how far an action got, and where it ended', () => {
  const states = (change: Partial<NameAction>) =>
    stepsOf({ ...action, ...change }).map(({ id, state }) => `${id} ${state}`);
  assert.deepEqual(states({}), ['agreed done', 'signed now', 'owner waiting', 'chain waiting']);
  assert.deepEqual(states({ asksOwner: false, stage: 'sent' }), ['agreed done', 'signed done', 'chain now']);
  assert.deepEqual(states({ stage: 'expired' }), [
    'agreed done',
    'signed done',
    'owner failed',
    'chain waiting',
  ]);
  assert.deepEqual(states({ stage: 'failed' }).at(1), 'signed failed');
  assert.deepEqual(states({ stage: 'failed', told: status({}) }).at(3), 'chain failed');
  assert.deepEqual(states({ way: 'card', stage: 'paying' }), ['agreed done', 'paid now', 'chain waiting']);
  assert.ok(states({ stage: 'completed' }).every((text) => text.endsWith('done')));
});
