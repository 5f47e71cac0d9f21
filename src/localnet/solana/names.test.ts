import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  aclConfig,
  aclPage,
  antAddresses,
  antConfig,
  antControllers,
  antRecord,
  antRecordMetadata,
} from '../../formats/solana/accounts-ant.ts';
import {
  arnsAddresses,
  arnsConfig,
  arnsRecord,
  demandFactor,
  nameRegistry,
  returnedName,
} from '../../formats/solana/accounts-arns.ts';
import type { SolanaAddress } from '../../formats/solana/address.ts';
import { decodeCoreAsset } from '../../formats/solana/core-asset.ts';
import { createAsset, transferAsset } from '../../formats/solana/core-instructions.ts';
import { type AclPlace, antBuilder } from '../../formats/solana/instructions-ant.ts';
import { arnsBuilder } from '../../formats/solana/instructions-arns.ts';
import { antError, arnsError } from '../../formats/solana/program-errors.ts';
import { namePrograms, rentExemptMinimum } from '../../formats/solana/programs.ts';
import { computeBudget, transferLamports } from '../../formats/solana/system.ts';
import { associatedTokenAddress, decodeTokenAccount } from '../../formats/solana/token.ts';
import type { Keypair } from './genesis.ts';
import { TransactionRefused } from './ledger.ts';
import { signed, TestLedger, wallet } from './testing.ts';

const programs = namePrograms.mainnet;
const service = wallet('service');
const owner = wallet('owner');
const friend = wallet('friend');
const arnsAt = arnsAddresses(programs.arns);
const antAt = antAddresses(programs.ant);
const ant = antBuilder(programs);
const target = 'T9_V2HfiAq5qlLzObfyayj2-cjPujxpg25TRi4OZbe4';
const logo = 'AnYvLJTWcG9lr2Ll5MwYWZR2o5uTE39WbpYB0zCxwKM';
const day = 86_400;

let ledger: TestLedger;
let arns: ReturnType<typeof arnsBuilder>;

before(async () => {
  ledger = await TestLedger.start({ fund: [service.address] });
  const config = arnsConfig.decode(data(arnsAt.config().address));
  arns = arnsBuilder(programs, config.treasury);
  for (const { address } of [service, owner, friend]) await ledger.send(bootstrap(address), service);
});
after(() => ledger.stop());

function bootstrap(user: SolanaAddress) {
  return [ant.registerAclConfig(user, service.address), ant.addAclPage({ user, page: 0n }, service.address)];
}

function data(address: SolanaAddress): Buffer {
  return ledger.local.ledger.accounts.get(address).data;
}

function place(key: Keypair): AclPlace {
  return { user: key.address, page: 0n };
}

function tokens(key: Keypair): bigint {
  return decodeTokenAccount(data(associatedTokenAddress(key.address, programs.mint))).amount;
}

/** The instructions of a sponsored mint: the service pays, the owner needs no lamports. */
function spawn(asset: Keypair, holder: Keypair, name: string) {
  return [
    ...computeBudget(400_000, 1_000n),
    transferLamports(service.address, holder.address, 9_472_560n),
    createAsset({
      asset: asset.address,
      payer: service.address,
      owner: holder.address,
      updateAuthority: antAt.authority(asset.address).address,
      name,
      uri: `ar://${logo}`,
      traits: [{ key: 'ANT Program', value: programs.ant }],
    }),
    ant.initialize(asset.address, holder.address, {
      name,
      ticker: undefined,
      target,
      protocol: undefined,
      logo: '',
      description: '',
      keywords: [],
    }),
    ant.aclEntry('recordAclOwner', asset.address, place(holder), service.address),
    ant.aclEntry('recordAclController', asset.address, place(holder), service.address),
    ant.addController(asset.address, holder.address, place(service)),
  ];
}

async function mint(name: string, holder: Keypair): Promise<Keypair> {
  const asset = wallet(`asset ${name}`);
  await ledger.send(spawn(asset, holder, name), service, asset, holder);
  return asset;
}

async function fails(work: Promise<unknown>, code: number, index = 0): Promise<void> {
  await assert.rejects(work, (error) => {
    assert.ok(error instanceof TransactionRefused, String(error));
    assert.deepEqual(error.error, { InstructionError: [index, { Custom: code }] }, error.logs.join('\n'));
    return true;
  });
}

test('the sponsored mint is 1162 bytes at 51 characters, and the owner needs no lamports', async () => {
  const long = 'x'.repeat(51);
  const asset = wallet('asset long');
  ledger.skip(1);
  const wire = signed(ledger.blockhash, spawn(asset, owner, long), service, asset, owner);
  assert.equal(wire.length, 1162);
  await ledger.local.ledger.submit(wire, true);
  assert.equal(ledger.balance(owner), 0n);
  const config = antConfig.decode(data(antAt.config(asset.address).address));
  assert.deepEqual(
    [config.name, config.ticker, config.logo, config.lastKnownOwner],
    [long, 'ANT', logo, owner.address],
  );
  const { controllers } = antControllers.decode(data(antAt.controllers(asset.address).address));
  assert.deepEqual(controllers, [owner.address, service.address]);
  const root = antRecord.decode(data(antAt.record(asset.address, '@').address));
  assert.deepEqual([root.target, root.ttlSeconds, root.priority], [target, 900, 0]);
  const page = aclPage.decode(data(antAt.aclPage(owner.address, 0n).address));
  assert.deepEqual(
    page.entries.map(({ role }) => role),
    ['owner', 'controller'],
  );
  assert.equal(aclConfig.decode(data(antAt.aclConfig(owner.address).address)).totalEntries, 2n);
  assert.equal(decodeCoreAsset(data(asset.address)).owner, owner.address);
  assert.equal(data(asset.address).length, 219 + 51);
});

test('a mint whose funding is not exact is refused for rent', async () => {
  const asset = wallet('asset inexact');
  const instructions = spawn(asset, owner, 'inexact').with(
    2,
    transferLamports(service.address, owner.address, 9_472_561n),
  );
  await assert.rejects(ledger.send(instructions, service, asset, owner), (error) => {
    assert.ok(error instanceof TransactionRefused);
    assert.match(JSON.stringify(error.error), /InsufficientFundsForRent/);
    return true;
  });
  assert.equal(data(asset.address).length, 0);
});

test('a name is bought, extended, widened and made permanent at the registry prices', async () => {
  const asset = await mint('a-long-enough-name', owner);
  const name = 'a-long-enough-name';
  let held = tokens(service);
  const paid = () => {
    const before = held;
    held = tokens(service);
    return before - held;
  };
  await ledger.send(
    [arns.buyName(service.address, { name, type: 'lease', years: 1, ant: asset.address })],
    service,
  );
  assert.equal(paid(), 240_000_000n);
  const record = () => arnsRecord.decode(data(arnsAt.record(name).address));
  const { start, end } = record();
  assert.equal(end, start + 365 * day);
  assert.equal(record().undernameLimit, 10);
  assert.equal(nameRegistry.head(data(arnsAt.registry().address)).count, 1);

  await fails(
    ledger.send(
      [arns.buyName(service.address, { name, type: 'lease', years: 1, ant: asset.address })],
      service,
    ),
    0,
  );
  await ledger.send([arns.extendLease(service.address, name, 2)], service);
  assert.equal(paid(), 80_000_000n);
  assert.equal(record().end, start + 3 * 365 * day);
  await fails(
    ledger.send([arns.extendLease(service.address, name, 3)], service),
    arnsError('ExtensionExceedsMax').code,
  );
  await ledger.send([arns.increaseUndernameLimit(service.address, name, 5)], service);
  assert.equal(paid(), 1_000_000n);
  assert.equal(record().undernameLimit, 15);
  await ledger.send([arns.upgradeName(service.address, name)], service);
  assert.equal(paid(), 1_000_000_000n);
  assert.deepEqual([record().type, record().end], ['permabuy', undefined]);
  await fails(
    ledger.send([arns.upgradeName(service.address, name)], service),
    arnsError('AlreadyPermanent').code,
  );
  await fails(
    ledger.send([arns.extendLease(service.address, name, 1)], service),
    arnsError('CannotExtendPermanent').code,
  );
  const factor = demandFactor.decode(data(arnsAt.demandFactor().address));
  assert.deepEqual([factor.purchases, factor.revenue], [4n, 1_321_000_000n]);
  await ledger.send([ant.syncAttributes(asset.address, service.address, name)], service);
  assert.deepEqual(decodeCoreAsset(data(asset.address)).traits, [
    { key: 'ArNS Name', value: name },
    { key: 'Type', value: 'permabuy' },
    { key: 'Undername Limit', value: '15' },
    { key: 'ANT Program', value: programs.ant },
  ]);
});

test('names that may not be sold are refused', async () => {
  const asset = wallet('asset nothing');
  const buy = (name: string, years = 1) =>
    ledger.send([arns.buyName(service.address, { name, type: 'lease', years, ant: asset.address })], service);
  await fails(buy('www'), arnsError('NameReserved').code);
  await fails(buy('Upper'), arnsError('InvalidNameFormat').code);
  await fails(buy('x'.repeat(43)), arnsError('InvalidNameFormat').code);
  await fails(buy('zero-years', 0), arnsError('InvalidLeaseDuration').code);
  await fails(buy('six-years', 6), arnsError('InvalidLeaseDuration').code);
});

test('a controller writes records; when the asset is sold outside the program he no longer may', async () => {
  const asset = await mint('records', owner);
  const set = (caller: Keypair, undername: string, extra: object = {}) =>
    ant.setRecord(asset.address, caller.address, {
      undername,
      target,
      protocol: 0,
      ttlSeconds: 3600,
      priority: undefined,
      recordOwner: undefined,
      ...extra,
    });
  const record = (undername: string) =>
    antRecord.decode(data(antAt.record(asset.address, undername).address));
  await ledger.send([set(service, 'docs')], service);
  assert.equal(record('docs').ttlSeconds, 3600);
  await fails(
    ledger.send([set(service, '@', { priority: 1 })], service),
    antError('CannotChangePriorityOfRoot').code,
  );
  await fails(ledger.send([set(service, '_x')], service), antError('InvalidUndername').code);
  await fails(ledger.send([set(service, 'docs', { ttlSeconds: 59 })], service), antError('InvalidTtl').code);
  await fails(
    ledger.send([set(service, 'docs', { target: 'short' })], service),
    antError('InvalidTarget').code,
  );

  await ledger.send([transferLamports(service.address, friend.address, 1_000_000_000n)], service);
  await fails(ledger.send([set(friend, 'new')], friend), antError('OnlyOwnerOrControllerCanCreate').code);
  await fails(ledger.send([set(friend, 'docs')], friend), antError('UnauthorizedRecordAccess').code);
  await ledger.send([ant.transferRecord(asset.address, service.address, 'docs', friend.address)], service);
  await fails(
    ledger.send([ant.transferRecord(asset.address, service.address, 'docs', friend.address)], service),
    antError('RecordTransferToSelf').code,
  );
  await ledger.send([set(friend, 'docs', { ttlSeconds: 120 })], friend);
  assert.deepEqual([record('docs').owner, record('docs').ttlSeconds], [friend.address, 120]);
  await ledger.send([set(service, 'docs', { recordOwner: undefined })], service);
  assert.equal(record('docs').owner, undefined);

  const describe = (caller: Keypair, extra: object) =>
    ant.setRecordMetadata(asset.address, caller.address, {
      undername: 'docs',
      displayName: undefined,
      logo: undefined,
      description: undefined,
      keywords: undefined,
      ...extra,
    });
  await ledger.send([describe(service, { displayName: 'Docs', keywords: ['a', 'b'] })], service);
  const metadata = antRecordMetadata.decode(data(antAt.metadata(asset.address, 'docs').address));
  assert.deepEqual([metadata.displayName, metadata.keywords, metadata.logo], ['Docs', ['a', 'b'], undefined]);
  await fails(
    ledger.send([describe(service, { keywords: ['a', 'a'] })], service),
    antError('InvalidKeyword').code,
  );
  const lamports = ledger.balance(service);
  await ledger.send([ant.removeRecord(asset.address, service.address, 'docs', true)], service);
  assert.equal(data(antAt.metadata(asset.address, 'docs').address).length, 0);
  assert.equal(ledger.balance(service), lamports - 5_000n + rentExemptMinimum(316) + rentExemptMinimum(436));
  await fails(
    ledger.send([ant.removeRecord(asset.address, service.address, '@', false)], service),
    antError('CannotRemoveRootRecord').code,
  );

  await ledger.send(
    [transferAsset(asset.address, service.address, owner.address, friend.address)],
    service,
    owner,
  );
  await fails(ledger.send([set(service, 'after')], service), antError('OnlyOwnerOrControllerCanCreate').code);
  await ledger.send([set(friend, 'after')], friend);
  assert.deepEqual(antControllers.decode(data(antAt.controllers(asset.address).address)).controllers, []);
});

test('controllers come and go, four at most, each in his own list', async () => {
  const asset = await mint('controllers', owner);
  const others = ['c1', 'c2', 'c3'].map(wallet);
  for (const key of others) await ledger.send(bootstrap(key.address), service);
  await ledger.send([ant.addController(asset.address, service.address, place(others[0]!))], service);
  await ledger.send([ant.addController(asset.address, service.address, place(others[1]!))], service);
  await fails(
    ledger.send([ant.addController(asset.address, service.address, place(others[2]!))], service),
    antError('MaxControllersReached').code,
  );
  await fails(
    ledger.send([ant.addController(asset.address, service.address, place(others[1]!))], service),
    antError('ControllerAlreadyExists').code,
  );
  await ledger.send([ant.removeController(asset.address, owner.address, place(others[0]!))], service, owner);
  await fails(
    ledger.send([ant.removeController(asset.address, owner.address, place(others[0]!))], service, owner),
    antError('ControllerNotFound').code,
  );
  const list = aclPage.decode(data(antAt.aclPage(others[0]!.address, 0n).address));
  assert.deepEqual(list.entries, []);
  await fails(
    ledger.send(
      [ant.aclEntry('recordAclController', asset.address, place(others[0]!), service.address)],
      service,
    ),
    antError('NotCurrentController').code,
  );
});

test('a transfer moves the asset, clears the controllers and both lists follow', async () => {
  const asset = await mint('transfer-me', owner);
  const rent = transferLamports(service.address, owner.address, 229_680n);
  await ledger.send([rent, ant.transfer(asset.address, place(owner), place(friend))], service, owner);
  assert.equal(decodeCoreAsset(data(asset.address)).owner, friend.address);
  assert.deepEqual(antControllers.decode(data(antAt.controllers(asset.address).address)).controllers, []);
  const has = (key: Keypair) =>
    aclPage
      .decode(data(antAt.aclPage(key.address, 0n).address))
      .entries.some((entry) => entry.asset === asset.address && entry.role === 'owner');
  assert.deepEqual([has(owner), has(friend)], [false, true]);
  await fails(
    ledger.send([ant.transfer(asset.address, place(owner), place(friend))], service, owner),
    antError('NotNftHolder').code,
  );
});

test('a lease that ran out goes to auction, sells at the premium, and the auction ends by itself', async () => {
  const name = 'short-lived-name';
  const asset = await mint(name, owner);
  await ledger.send(
    [arns.buyName(service.address, { name, type: 'lease', years: 1, ant: asset.address })],
    service,
  );
  ledger.skipSeconds(365 * day + 13 * day);
  await ledger.local.upkeep();
  assert.ok(arnsRecord.matches(data(arnsAt.record(name).address)));
  await fails(
    ledger.send([arns.increaseUndernameLimit(service.address, name, 1)], service),
    arnsError('RecordExpired').code,
  );
  ledger.skipSeconds(2 * day);
  await ledger.local.upkeep();
  assert.equal(data(arnsAt.record(name).address).length, 0);
  const returned = returnedName.decode(data(arnsAt.returned(name).address));
  assert.equal(returned.initiator, arnsAt.config().address);
  await fails(
    ledger.send(
      [arns.buyName(service.address, { name, type: 'lease', years: 1, ant: asset.address })],
      service,
    ),
    arnsError('AuctionActive').code,
  );
  const before = tokens(service);
  const { factor, fees } = demandFactor.decode(data(arnsAt.demandFactor().address));
  await ledger.send(
    [
      arns.buyReturnedName(service.address, arnsAt.config().address, {
        name,
        type: 'lease',
        years: 1,
        ant: asset.address,
      }),
    ],
    service,
  );
  const price = (fees[12]! * factor * 1_200_000n) / 1_000_000n / 1_000_000n;
  const spent = before - tokens(service);
  assert.ok(spent > price * 49n && spent <= price * 50n, `${spent} of ${price}`);
  assert.equal(data(arnsAt.returned(name).address).length, 0);

  ledger.skipSeconds(365 * day + 15 * day);
  await ledger.local.upkeep();
  assert.ok(returnedName.matches(data(arnsAt.returned(name).address)));
  ledger.skipSeconds(14 * day);
  await ledger.local.upkeep();
  assert.equal(data(arnsAt.returned(name).address).length, 0);
});

test('a permanent name is released by the holder of its ANT, who gets half of the auction', async () => {
  const name = 'given-back-name';
  const asset = await mint(name, friend);
  await ledger.send(
    [arns.buyName(service.address, { name, type: 'permabuy', years: 0, ant: asset.address })],
    service,
  );
  await fails(
    ledger.send([arns.releaseName(service.address, name, asset.address)], service),
    arnsError('NotAntHolder').code,
  );
  await ledger.local.fund(friend.address);
  const before = tokens(friend);
  await ledger.send([arns.releaseName(friend.address, name, asset.address)], friend);
  const held = tokens(service);
  ledger.skipSeconds(7 * day);
  await ledger.send(
    [
      arns.buyReturnedName(service.address, friend.address, {
        name,
        type: 'lease',
        years: 1,
        ant: asset.address,
      }),
    ],
    service,
  );
  const spent = held - tokens(service);
  assert.equal(tokens(friend) - before, spent - spent / 2n);
});
