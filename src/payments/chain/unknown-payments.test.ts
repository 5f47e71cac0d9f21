/** What the chains list as paid to us and nobody reported: told where it may be worth something, and credited by its chain's word. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { creditsMigrations } from '../../credits/migrations.ts';
import { collected } from '../../kernel/collected.ts';
import { paymentMigrations } from '../../payment/migrations.ts';
import { forEachEngine } from '../../storage/sql/testing.ts';
import type { OutsideRecord } from '../outside-records.ts';
import type { AcceptedToken, ChainTransaction, PastPayment, Transfer } from './chain.ts';
import type { ChainPayments } from './chain-payments.ts';
import { insertRow } from './store.ts';
import { aChainPayment, type FakeChains, fakeTokens, serviceWallets } from './testing.ts';
import { unknownChainPayments } from './unknown-payments.ts';

const { arweave: ours, formerArweave: former } = serviceWallets;
const idOf = (name: string) => name.padEnd(43, '0');
const transfer: Transfer = { sender: 'payer', recipient: ours, quantity: 5n };

function setUp(history: readonly PastPayment[]) {
  const chains: FakeChains = { chainDown: false, transactions: new Map(), slow: undefined, lookups: 0 };
  const tokens = fakeTokens(chains);
  const asked: number[] = [];
  const list = (since: number) => {
    asked.push(since);
    return (async function* () {
      yield* history;
    })();
  };
  const token = { ...tokens.get('arweave'), history: list } as AcceptedToken;
  tokens.set('arweave', token);
  const says = (name: string, transaction: ChainTransaction) =>
    chains.transactions.set(`arweave ${idOf(name)}`, transaction);
  return { tokens, asked, chains, says };
}

forEachEngine((_engine, open) => {
  it('tells what pays us, leaves out what does not, and what is known', async () => {
    const sql = await open([...creditsMigrations, ...paymentMigrations]);
    const names = [
      'known',
      'paid',
      'former',
      'waiting',
      'gone',
      'other',
      'own',
      'moved',
      'nothing',
      'barred',
    ];
    const s = setUp([...names, 'reverted'].map((name, at) => ({ id: idOf(name), at })));
    await sql.transaction((tx) =>
      insertRow(tx, { ...aChainPayment, chain: 'arweave', transaction_id: idOf('known') }),
    );
    s.says('known', { state: 'confirmed', transfer });
    s.says('paid', { state: 'confirmed', transfer });
    s.says('former', { state: 'confirmed', transfer: { ...transfer, recipient: former } });
    s.says('waiting', { state: 'pending', transfer });
    s.says('other', { state: 'confirmed', transfer: { ...transfer, recipient: 'somebody' } });
    s.says('own', { state: 'confirmed', transfer: { ...transfer, sender: ours } });
    s.says('moved', { state: 'confirmed', transfer: { ...transfer, sender: former } });
    s.says('nothing', { state: 'confirmed', transfer: { ...transfer, quantity: 0n } });
    s.says('barred', { state: 'confirmed', transfer: { ...transfer, sender: 'barred' } });
    s.says('reverted', { state: 'reverted', transfer });
    const taken: string[] = [];
    let taking: Awaited<ReturnType<ChainPayments['takeIn']>> = { ...aChainPayment, state: 'credited' };
    const sources = unknownChainPayments({
      ...{ sql, tokens: s.tokens, excludedSenders: new Set(['barred']) },
      payments: {
        async takeIn(token, id) {
          taken.push(`${token} ${id}`);
          return taking;
        },
      },
    });
    // `pol` is another name of `matic`.
    assert.deepEqual(
      sources.map(({ name }) => name),
      ['payments in arweave', 'payments in matic', 'payments in polygon-usdc'],
    );
    const [first] = sources;
    assert.ok(first !== undefined);
    const found: OutsideRecord[] = await collected(first.unknown(77));
    assert.deepEqual(s.asked, [77]);
    assert.deepEqual(
      found.map(({ id, at, what, openBecause }) => [id, at, what, openBecause]),
      [
        [idOf('paid'), 1, '5 of arweave from payer', undefined],
        [idOf('former'), 2, '5 of arweave from payer', undefined],
        [idOf('waiting'), 3, '5 of arweave from payer', undefined],
        [idOf('gone'), 4, 'a transaction in arweave', 'its chain does not show it now: run this again'],
      ],
    );
    assert.equal(found[3]?.credit, undefined);
    const [paid] = found;
    assert.deepEqual(await paid?.credit?.(), {
      ...{ state: 'credited', address: aChainPayment.destination, winc: BigInt(aChainPayment.winc) },
    });
    taking = { ...aChainPayment, state: 'pending' };
    assert.deepEqual(await paid?.credit?.(), { state: 'taken in', reason: 'it is pending' });
    taking = undefined;
    assert.deepEqual(await paid?.credit?.(), { state: 'open', reason: 'it is not taken as a payment' });
    assert.deepEqual(new Set(taken), new Set([`arweave ${idOf('paid')}`]));
  });
});
