import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { eventually } from '../../../test/support/eventually.ts';
import { silent } from '../../../test/support/local-gateway.ts';
import type { Request } from '../../kernel/http/server.ts';
import { forEachEngine } from '../../storage/sql/testing.ts';
import { gatewayMigrations } from '../migrations.ts';
import { Buckets } from './buckets.ts';
import { Clients } from './client.ts';
import { PaidTokens } from './paid.ts';
import { costOf, priceOf, tokensFor } from './prices.ts';
import { SharedBuckets } from './shared.ts';

describe('a bucket', () => {
  const at = { now: 0 };
  const rules = { capacity: 100, refillPerSecond: 10, max: 1_000, now: () => at.now };

  it('is full in the beginning, gives all or nothing, and fills with time up to its rim', () => {
    const buckets = new Buckets(rules);
    assert.equal(buckets.take('a', 70), true);
    assert.equal(buckets.take('a', 31), false);
    assert.equal(buckets.secondsUntil('a', 31), 0.1);
    at.now += 100;
    assert.equal(buckets.take('a', 31), true);
    assert.equal(buckets.tokens('a'), 0);
    at.now += 1_000_000;
    assert.equal(buckets.tokens('a'), 100);
    assert.equal(buckets.secondsUntil('a', 101), undefined);
    assert.equal(buckets.tokens('b'), 100);
  });

  it('gains nothing for the time before it was first used', async () => {
    const buckets = new Buckets({ capacity: 1_000_000, refillPerSecond: 1_000, max: 10 });
    const began = performance.now();
    await eventually('time has passed', () => performance.now() > began + 50);
    assert.ok(buckets.take('a', 1_000_000));
    const gained = await eventually('it fills again', () => buckets.tokens('a') || undefined);
    // Its clock may be a tick late.
    assert.ok(gained <= performance.now() - began, String(gained));
  });

  it('keeps a hundred thousand clients in bounded memory', () => {
    const buckets = new Buckets({ ...rules, max: 10_000 });
    for (let client = 0; client < 100_000; client += 1) buckets.take(`10.${client}`, 1);
    assert.equal(buckets.size, 10_000);
  });
});

describe('the address of a client', () => {
  const ask = (clients: Clients, remoteAddress: string, forwarded?: string) =>
    clients.keyOf({
      socket: { remoteAddress },
      headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded },
    } as unknown as Request);

  it('is the socket’s, whatever a client claims', () => {
    const clients = new Clients({ proxies: [], allowed: [] });
    assert.equal(ask(clients, '9.9.9.9', '1.2.3.4'), '9.9.9.9');
    assert.equal(ask(clients, '::ffff:9.9.9.9'), '9.9.9.9');
  });

  it('behind a trusted proxy is the last one that is no proxy', () => {
    const clients = new Clients({ proxies: ['10.0.0.0/8', 'fd00::/8'], allowed: [] });
    assert.equal(ask(clients, '10.0.0.1', '1.2.3.4'), '1.2.3.4');
    assert.equal(ask(clients, '10.0.0.1', '6.6.6.6, 1.2.3.4, 10.0.0.2'), '1.2.3.4');
    assert.equal(ask(clients, '10.0.0.1', 'forged, 1.2.3.4'), '1.2.3.4');
    assert.equal(ask(clients, '10.0.0.1', '1.2.3.4, not an address'), '10.0.0.1');
    assert.equal(ask(clients, '10.0.0.1'), '10.0.0.1');
    assert.equal(ask(clients, '9.9.9.9', '1.2.3.4'), '9.9.9.9');
    assert.equal(ask(clients, 'fd00::1', '2001:db8:1:2:3:4:5:6'), '2001:db8:1:2::/64');
  });

  it('of one IPv6 network is one, and an allowed network is known by it', () => {
    const clients = new Clients({ proxies: [], allowed: ['2001:db8::/32', '192.0.2.0/24'] });
    assert.equal(ask(clients, '2001:db8::1'), '2001:db8:0:0::/64');
    assert.equal(ask(clients, '2001:db8::ffff:1'), '2001:db8:0:0::/64');
    const allows = (some: Clients, remoteAddress: string) =>
      some.isAllowed({ socket: { remoteAddress }, headers: {} } as unknown as Request);
    assert.deepEqual(
      ['2001:db8::9', '192.0.2.7', '192.0.3.7', '2001:db9::1'].map((address) => allows(clients, address)),
      [true, true, false, false],
    );
    const single = new Clients({ proxies: [], allowed: ['::1', '2001:db8::/128'] });
    assert.deepEqual(
      ['::1', '::2', '2001:db8::', '2001:db8::5'].map((address) => allows(single, address)),
      [true, false, true, false],
    );
    for (const bad of ['300.1.1.1', '10.0.0.0/33', 'example.org', '10.0.0.0/8/8', '::/129']) {
      assert.throws(() => new Clients({ proxies: [bad], allowed: [] }), /TRUSTED_PROXIES/);
    }
  });
});

describe('prices', () => {
  const prices = { perGigabyte: 100_000n, least: 1_000n, most: 1_000_000n, multiplier: 10 };
  it('follow the bytes between the smallest and the largest payment', () => {
    const mebibyte = 2 ** 20;
    const table: [number, bigint, number][] = [
      [0, 1_000n, 1],
      [1_024, 1_000n, 1],
      [mebibyte, 1_000n, 1_024],
      [30 * mebibyte, 3_000n, 30_720],
      [100 * mebibyte, 10_000n, 102_400],
      [2 ** 30, 107_000n, 1_048_576],
      [20_000_000_000, 1_000_000n, 19_531_250],
    ];
    for (const [bytes, price, cost] of table)
      assert.deepEqual([priceOf(bytes, prices), costOf(bytes)], [price, cost]);
    assert.equal(tokensFor(1_000n, 1, prices), 97_650);
    assert.equal(tokensFor(1_000_000n, 20_000_000_000, prices), 195_312_500);
  });
});

forEachEngine((_engine, open) => {
  it('counts a payment once and spends no token twice', async () => {
    const paid = new PaidTokens(await open(gatewayMigrations));
    assert.equal(await paid.spend('a', 1), false);
    const counted = await Promise.all(Array.from({ length: 5 }, () => paid.credit('payment', 'a', 10)));
    assert.equal(counted.filter(Boolean).length, 1);
    const spent = await Promise.all(Array.from({ length: 8 }, () => paid.spend('a', 3)));
    assert.equal(spent.filter(Boolean).length, 3);
    assert.equal(await paid.spend('a', 1), true);
    assert.equal(await paid.spend('a', 1), false);
  });

  it('shares buckets between processes', async () => {
    const sql = await open(gatewayMigrations);
    const at = { now: 0 };
    const now = () => at.now;
    const rules = { capacity: 100, refillPerSecond: 10, max: 1_000, now };
    const [one, two] = [new Buckets(rules), new Buckets(rules)];
    const [first, second] = [one, two].map((group) => new SharedBuckets(sql, [group], silent, now));
    assert.ok(one.take('a', 60) && two.take('a', 30));
    await first?.exchange();
    await second?.exchange();
    assert.equal(two.tokens('a'), 10);
    two.take('a', 5);
    one.take('a', 1);
    await second?.exchange();
    await first?.exchange();
    assert.equal(one.tokens('a'), 4);
    at.now += 1_000;
    one.take('a', 1);
    await first?.exchange();
    assert.equal(one.tokens('a'), 13);
  });

  it('counts what several processes take first at the same time', async () => {
    const sql = await open(gatewayMigrations);
    const rules = { capacity: 100, refillPerSecond: 0, max: 1_000, now: () => 0 };
    const groups = Array.from({ length: 6 }, () => new Buckets(rules));
    const shared = groups.map((group) => new SharedBuckets(sql, [group], silent, () => 0));
    for (const client of ['a', 'b', 'c']) {
      for (const group of groups) assert.ok(group.take(client, 10));
      await Promise.all(shared.map((one) => one.exchange()));
      const left = await sql.get('SELECT millitokens FROM meter_buckets WHERE bucket = ?', client);
      assert.deepEqual(left, { millitokens: 40_000 }, client);
    }
  });
});
