import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '../../../test/support/seeded-random.ts';
import { FormatError } from '../format-error.ts';
import {
  aclConfig,
  aclPage,
  aclPageSize,
  antConfig,
  antControllers,
  antRecord,
  antRecordMetadata,
} from './accounts-ant.ts';
import {
  arnsConfig,
  arnsRecord,
  demandFactor,
  hashName,
  nameRegistry,
  reservedName,
  returnedName,
} from './accounts-arns.ts';
import { toSolanaAddress } from './address.ts';
import { decodeCoreAsset, encodeCoreAsset } from './core-asset.ts';
import { antInstructions } from './instructions-ant.ts';
import { arnsInstructions } from './instructions-arns.ts';
import { decodeMint, decodeTokenAccount, encodeMint, encodeTokenAccount } from './token.ts';

const asset = toSolanaAddress(Buffer.alloc(32, 7));
const user = toSolanaAddress(Buffer.alloc(32, 9));
const version = [1, 0, 0];

test('account types carry the discriminators of the public programs', () => {
  const expected = new Map<{ readonly discriminator: Buffer }, string>([
    [arnsConfig, '75149e1031555218'],
    [demandFactor, 'e2332d1f4d70e65a'],
    [arnsRecord, '359e2a7d078468bc'],
    [returnedName, '9d267ccc024b2b89'],
    [reservedName, '16a65094633b4aba'],
    [nameRegistry, 'a93f53f0c69e350b'],
    [antConfig, 'fd785b4029f4eae5'],
    [antControllers, '0a86759560c606d4'],
    [antRecord, 'e15e46f0522d8751'],
    [antRecordMetadata, '780a685115cf6808'],
    [aclConfig, '618d5d1dc668c76e'],
    [aclPage, '2e29b446d7c91203'],
  ]);
  for (const [kind, hex] of expected) assert.equal(kind.discriminator.toString('hex'), hex);
});

test('instructions carry the discriminators of the public programs', () => {
  const expected = {
    buyName: '33f4faf67736f617',
    extendLease: '74d7fa4e0de4cb3f',
    upgradeName: '1c9e0f74bf628b03',
    increaseUndernameLimit: '6d4af32424c27f23',
    reassignName: '73e2a935f3f72810',
    releaseName: '034411d939357ba4',
    pruneNameToReturned: '972f1dc8912458a5',
    pruneReturnedNames: '815f27d44c1db6a5',
    updateDemandFactor: 'a078838149e52fd8',
    getTokenCost: 'c6d8ba38e0a56f0b',
    reserveName: '916da7f0eb848824',
    unreserveName: '91b14b80f3b469fd',
    initialize: 'afaf6d1f0d989bed',
    setRecord: '8807cb4e6e6437b4',
    removeRecord: '39a57a1a8394ea63',
    transferRecord: 'ee1177f7e5bbb675',
    setRecordMetadata: 'fe947ff9744ccedd',
    removeRecordMetadata: '8d4a23d61ba3d92a',
    addController: 'c545a31a0d3075ef',
    removeController: 'f83fdc5785ac3d6f',
    transfer: 'a334c8e78c0345ba',
    reconcile: '3d18c5b4c3a98a69',
    syncAttributes: 'ca59d94b535b2822',
    registerAclConfig: 'fca5e82c688f723e',
    addAclPage: '5c0bdbd77766e919',
    recordAclOwner: 'eeb2109ce9f18990',
    recordAclController: 'e19b03e6fa4cbed3',
    removeAclOwner: '8a568cdc733f838a',
    removeAclController: 'ade1ee5929d5dcd1',
  };
  const all = new Map(Object.entries({ ...arnsInstructions, ...antInstructions }));
  for (const [name, hex] of Object.entries(expected)) {
    assert.equal(all.get(name)?.discriminator.toString('hex'), hex, name);
  }
});

test('a name record keeps its fields where filters look for them', () => {
  const record = {
    nameHash: hashName('ardrive'),
    owner: user,
    ant: asset,
    type: 'lease' as const,
    start: 1_700_000_000,
    end: 1_800_000_000,
    undernameLimit: 10,
    purchasePrice: 240_000_000n,
    bump: 254,
    name: 'ardrive',
    version,
  };
  const data = arnsRecord.encode(record);
  assert.equal(data.length, 191);
  assert.deepEqual(data.subarray(8, 40), hashName('ardrive'));
  assert.deepEqual(data.subarray(40, 72), Buffer.alloc(32, 9));
  assert.deepEqual(data.subarray(72, 104), Buffer.alloc(32, 7));
  assert.equal(data[104], 0);
  assert.equal(data.readBigInt64LE(105), 1_700_000_000n);
  assert.equal(data[113], 1);
  assert.deepEqual(arnsRecord.decode(data), record);
  assert.deepEqual(arnsRecord.decode(arnsRecord.encode({ ...record, end: undefined })).end, undefined);
  assert.throws(() => antRecord.decode(data), FormatError);
  assert.throws(() => arnsRecord.decode(data.subarray(0, 130)), FormatError);
  assert.throws(() => arnsRecord.encode({ ...record, name: 'x'.repeat(80) }), FormatError);
});

test('the longest contents fit their accounts exactly as the programs size them', () => {
  const long = (length: number) => 'x'.repeat(length);
  const config = {
    mint: asset,
    name: long(61),
    ticker: long(16),
    logo: long(43),
    description: long(128),
    keywords: [long(32), long(32), long(32)],
    lastKnownOwner: user,
    bump: 255,
    version,
  };
  assert.deepEqual(antConfig.decode(antConfig.encode(config)), config);
  const metadata = {
    mint: asset,
    undernameHash: hashName('@'),
    displayName: long(61),
    logo: long(43),
    description: long(128),
    keywords: [long(32), long(32), long(32)],
    bump: 255,
    version,
  };
  assert.deepEqual(antRecordMetadata.decode(antRecordMetadata.encode(metadata)), metadata);
  const record = {
    mint: asset,
    undername: long(61),
    target: long(128),
    targetProtocol: 1,
    ttlSeconds: 3600,
    priority: 1,
    owner: user,
    lastReconciledOwner: user,
    bump: 255,
    version,
  };
  assert.deepEqual(antRecord.decode(antRecord.encode(record)), record);
  const controllers = { mint: asset, controllers: [user, asset, user, asset], bump: 1, version };
  assert.deepEqual(antControllers.decode(antControllers.encode(controllers)), controllers);
  const page = {
    user,
    pageIndex: 0n,
    entries: [{ asset, role: 'controller' as const }],
    bump: 1,
    version,
  };
  assert.equal(aclPageSize(1), 89);
  assert.deepEqual(aclPage.decode(aclPage.encode(page, aclPageSize(1))), page);
  assert.throws(() => aclPage.encode(page), FormatError);
});

test('a fresh name token is 219 bytes and its name', () => {
  const asset1 = {
    owner: user,
    updateAuthority: asset,
    name: 'ardrive',
    uri: `ar://${'x'.repeat(43)}`,
    traits: [{ key: 'ANT Program', value: '2MWexMHfMhGJwMHv9Qm9YAVCqjUFUJwDJAysW4oCUGk5' }],
  };
  const data = encodeCoreAsset(asset1);
  assert.equal(data.length, 219 + 7);
  assert.deepEqual(decodeCoreAsset(data), asset1);
  const bare = { ...asset1, updateAuthority: undefined, traits: undefined };
  assert.deepEqual(decodeCoreAsset(encodeCoreAsset(bare)), bare);
});

test('mints and token accounts come back from their bytes', () => {
  const mint = {
    authority: user,
    supply: 10n ** 15n,
    decimals: 6,
    initialized: true,
    freezeAuthority: undefined,
  };
  assert.equal(encodeMint(mint).length, 82);
  assert.deepEqual(decodeMint(encodeMint(mint)), mint);
  const account = {
    mint: asset,
    owner: user,
    amount: 2n ** 64n - 1n,
    delegate: undefined,
    state: 'initialized' as const,
    nativeReserve: undefined,
    delegatedAmount: 0n,
    closeAuthority: undefined,
  };
  assert.equal(encodeTokenAccount(account).length, 165);
  assert.deepEqual(decodeTokenAccount(encodeTokenAccount(account)), account);
});

test('damaged accounts are refused or read, never a crash', () => {
  const random = seededRandom(5);
  const samples = [
    antConfig.encode({
      mint: asset,
      name: 'n',
      ticker: 'ANT',
      logo: '',
      description: 'd',
      keywords: ['a', 'b'],
      lastKnownOwner: user,
      bump: 1,
      version,
    }),
    encodeCoreAsset({
      owner: user,
      updateAuthority: asset,
      name: 'n',
      uri: 'u',
      traits: [{ key: 'k', value: 'v' }],
    }),
  ];
  const readers = [antConfig.decode, decodeCoreAsset];
  let refused = 0;
  for (let round = 0; round < 4_000; round += 1) {
    const which = random.below(2);
    try {
      readers[which]!(random.mangle(samples[which]!));
    } catch (error) {
      assert.ok(error instanceof FormatError, String(error));
      refused += 1;
    }
  }
  assert.ok(refused > 500);
});
