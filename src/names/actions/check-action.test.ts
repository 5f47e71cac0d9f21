/** What is refused before anything is charged. An action that is allowed comes as far as its price, which fails here. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { winc } from '../../credits/credits.ts';
import { wallet } from '../../localnet/solana/testing.ts';
import { NamesError } from '../errors.ts';
import type { ActionRequest } from '../requests/action.ts';
import { checkAction } from './check-action.ts';
import type { ActionContext } from './context.ts';
import { requireSponsor } from './sponsor.ts';

const [service, owner, buyer, ant, target] = ['service', 'owner', 'buyer', 'token', 'target'].map(
  (name) => wallet(name).address,
);
assert.ok(service && owner && buyer && ant && target);
const allowed = /^Error: allowed$/;

/** Of the context, what is asked before the price. */
function contextOf(parts: Record<string, unknown>): ActionContext {
  const none = { all: async () => [], get: async () => undefined };
  const prices = {
    action: () => Promise.reject(new Error('allowed')),
    name: () => Promise.reject(new Error('no price')),
  };
  const chain = { genesisHash: async () => 'a chain', reach: () => {} };
  const usual = { key: { address: service }, sql: none, prices, chain };
  return Object.assign(Object.create(null), usual, parts);
}

const refused = (status: number, words: RegExp) => (error: unknown) =>
  error instanceof NamesError && error.status === status && words.test(error.message);

test('a name is not sold to the service itself, from an auction, or where it cannot be paid', async () => {
  const buy: ActionRequest = {
    action: 'buy-name',
    name: 'a-name',
    owner,
    type: 'lease',
    years: 1,
    opening: {},
  };
  const check = (request: ActionRequest, returned: unknown, price = 5n) =>
    checkAction(
      contextOf({
        prices: {
          name: async () => ({ total: winc(1n), mtoken: price, state: { returned }, rates: {} }),
        },
        registry: { programs: { mint: target } },
        chain: { account: async () => undefined },
        builders: () => Promise.reject(new Error('allowed')),
      }),
      { request, payer: buyer, provenOwner: undefined },
    );
  await assert.rejects(check({ ...buy, owner: service }, undefined), refused(400, /must not be the service/));
  await assert.rejects(check(buy, {}), refused(400, /returned-name auction/));
  await assert.rejects(check(buy, undefined), refused(503, /cannot pay for names/));
  await assert.rejects(check(buy, undefined, 0n), allowed);
  assert.doesNotThrow(() => requireSponsor(5n, 5n), 'just enough is enough');
  assert.throws(() => requireSponsor(4n, 5n), refused(503, /cannot pay/));
});

test('a record is changed by the proven owner of its token, as it stands', async () => {
  const remove: ActionRequest = { action: 'remove-record', antId: ant, owner, undername: 'Docs' };
  const asked: string[] = [];
  const check = (request: ActionRequest, state: unknown, proven: typeof owner | undefined = owner) =>
    checkAction(
      contextOf({
        registry: {
          antRecord: async (_ant: string, undername: string) => {
            asked.push(undername);
            return state;
          },
        },
      }),
      { request, payer: buyer, provenOwner: proven },
    );
  const state = { ant: { asset: ant, owner }, record: { owner: target }, metadata: {} };
  await assert.rejects(check(remove, state), allowed);
  assert.deepEqual(asked, ['docs']);
  await assert.rejects(
    checkAction(contextOf({}), { request: remove, payer: buyer, provenOwner: undefined }),
    refused(401, /./),
  );
  await assert.rejects(check(remove, undefined), refused(404, /not found/));
  await assert.rejects(check(remove, state, buyer), NamesError);
  await assert.rejects(check({ ...remove, owner: buyer }, state), NamesError);
  await assert.rejects(check(remove, { ...state, record: undefined }), refused(400, /has no record docs/));
  const set: ActionRequest = { ...remove, action: 'set-record', transactionId: 'x', ttlSeconds: 60 };
  await assert.rejects(check(set, { ...state, record: undefined }), allowed);
  const bare = { ...state, metadata: undefined };
  await assert.rejects(check(remove, bare), allowed);
  await assert.rejects(
    check({ ...remove, action: 'remove-record-metadata' }, bare),
    refused(400, /no metadata/),
  );
  await assert.rejects(check({ ...remove, action: 'remove-record-metadata' }, state), allowed);
  const transfer: ActionRequest = { ...remove, action: 'transfer-record', target };
  await assert.rejects(check(transfer, state), refused(400, /has this owner already/));
  await assert.rejects(check({ ...transfer, target: buyer }, state), allowed);
});

test('controllers and transfers are the owner’s, or of a token in custody its buyer’s', async () => {
  const add: ActionRequest = { action: 'add-controller', antId: ant, owner, target };
  let reached = 0;
  const check = (request: ActionRequest, token: unknown, payer: string = buyer) =>
    checkAction(
      contextOf({
        registry: {
          ant: async () => {
            assert.equal(reached, 700, 'read where what others have done is seen');
            return token;
          },
        },
        sql: { get: async () => ({ payer: buyer, slot: 700 }), all: async () => [{ payer: buyer }] },
        chain: {
          genesisHash: async () => 'a chain',
          reach: (slot: number) => {
            reached = slot;
          },
        },
      }),
      { request, payer, provenOwner: undefined },
    );
  const others = [service, owner, buyer, ant];
  const token = { asset: ant, owner, controllers: others.slice(0, 3) };
  await assert.rejects(check(add, token), allowed);
  await assert.rejects(check(add, undefined), refused(404, /not found/));
  await assert.rejects(check({ ...add, owner: buyer }, token), refused(400, /does not own/));
  await assert.rejects(check(add, { ...token, controllers: others }), refused(400, /at most 4 controllers/));
  await assert.rejects(check(add, { ...token, controllers: [target] }), refused(400, /controller already/));
  const remove: ActionRequest = { ...add, action: 'remove-controller' };
  await assert.rejects(check(remove, token), refused(400, /is not a controller/));
  await assert.rejects(check(remove, { ...token, controllers: [target] }), allowed);
  await assert.rejects(check({ ...remove, action: 'transfer' }, token), allowed);
  const held = { ...token, owner: service };
  await assert.rejects(check(add, held), refused(400, /held by the service/));
  await assert.rejects(
    check({ ...add, action: 'transfer' }, held, owner),
    refused(400, /held by the service/),
  );
  await assert.rejects(check({ ...add, action: 'transfer' }, held), allowed);
});
