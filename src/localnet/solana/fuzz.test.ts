import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '../../../test/support/seeded-random.ts';
import { antAddresses } from '../../formats/solana/accounts-ant.ts';
import { arnsAddresses, arnsConfig } from '../../formats/solana/accounts-arns.ts';
import { addressBytes, type SolanaAddress } from '../../formats/solana/address.ts';
import { Writer } from '../../formats/solana/bytes.ts';
import { antBuilder } from '../../formats/solana/instructions-ant.ts';
import { arnsBuilder } from '../../formats/solana/instructions-arns.ts';
import { lookupTableInstruction } from '../../formats/solana/lookup-table.ts';
import {
  type AccountMeta,
  type Instruction,
  readOnly,
  signer,
  writable,
  writableSigner,
} from '../../formats/solana/message.ts';
import { nonceAccountSize } from '../../formats/solana/nonce.ts';
import { findProgramAddress } from '../../formats/solana/pda.ts';
import {
  coreProgram,
  lookupTableProgram,
  namePrograms,
  nativeMint,
  rentExemptMinimum,
  systemProgram,
  sysvars,
  tokenProgram,
} from '../../formats/solana/programs.ts';
import { createAccount, systemInstruction, transferLamports } from '../../formats/solana/system.ts';
import {
  associatedTokenAddress,
  decodeMint,
  decodeTokenAccount,
  mintSize,
  tokenAccountSize,
  tokenInstruction,
} from '../../formats/solana/token.ts';
import { TransactionRefused } from './ledger.ts';
import { accountMethods } from './rpc/accounts.ts';
import { blockMethods } from './rpc/blocks.ts';
import { chainMethods } from './rpc/chain-methods.ts';
import { clusterMethods } from './rpc/cluster.ts';
import { transactionMethods } from './rpc/transactions.ts';
import { registerName, TestLedger, wallet } from './testing.ts';

const programs = namePrograms.mainnet;
const service = wallet('service');
const owner = wallet('owner');

test('damaged instructions are refused by the programs, never by a crash, and make no lamports or tokens', async () => {
  const random = seededRandom(77);
  const ledger = await TestLedger.start({ fund: [service.address] });
  try {
    const asset = await registerName(ledger, service, owner, 'fuzzed-name');
    const at = antAddresses(programs.ant);
    const arns = arnsAddresses(programs.arns);
    const { accounts } = ledger.local.ledger;
    const config = arnsConfig.decode(accounts.get(arns.config().address).data);
    const ant = antBuilder(programs);
    const names = arnsBuilder(programs, config.treasury);
    const place = { user: service.address, page: 0n };
    const record = {
      undername: 'x',
      target: 'y',
      protocol: 0,
      ttlSeconds: 60,
      priority: 1,
      recordOwner: undefined,
    };
    const samples: Instruction[] = [
      names.buyName(service.address, { name: 'another', type: 'lease', years: 1, ant: asset.address }),
      names.extendLease(service.address, 'fuzzed-name', 1),
      names.upgradeName(service.address, 'fuzzed-name'),
      names.increaseUndernameLimit(service.address, 'fuzzed-name', 1),
      names.releaseName(service.address, 'fuzzed-name', asset.address),
      names.pruneReturnedNames(service.address, ['fuzzed-name']),
      ant.setRecord(asset.address, service.address, record),
      ant.setRecordMetadata(asset.address, service.address, {
        undername: '@',
        displayName: 'n',
        logo: undefined,
        description: 'd',
        keywords: ['k'],
      }),
      ant.removeRecord(asset.address, service.address, '@', true),
      ant.addController(asset.address, service.address, place),
      ant.transfer(asset.address, place, { user: owner.address, page: 0n }),
      ant.aclEntry('removeAclOwner', asset.address, place, service.address),
      ant.syncAttributes(asset.address, service.address, 'fuzzed-name'),
    ];
    const pool = [
      asset.address,
      service.address,
      owner.address,
      programs.arns,
      programs.ant,
      coreProgram,
      systemProgram,
      arns.config().address,
      arns.registry().address,
      arns.record('fuzzed-name').address,
      at.config(asset.address).address,
      at.controllers(asset.address).address,
      at.record(asset.address, '@').address,
      associatedTokenAddress(service.address, programs.mint),
      config.treasury,
    ];
    const total = () => [...accounts.entries()].reduce((sum, [, { lamports }]) => sum + lamports, 0n);
    let taken = 0;
    for (let round = 0; round < 600; round += 1) {
      const sample = random.pick(samples);
      const metas = sample.accounts.map((meta) =>
        random.below(6) === 0 && !meta.signer ? { ...meta, address: random.pick(pool) } : meta,
      );
      const instruction = {
        programId:
          random.below(20) === 0 ? random.pick([programs.arns, programs.ant, coreProgram]) : sample.programId,
        accounts: random.below(15) === 0 ? metas.slice(0, random.below(metas.length)) : metas,
        data: random.below(3) === 0 ? random.mangle(sample.data) : sample.data,
      };
      const before = total();
      try {
        await ledger.send([instruction], service);
        taken += 1;
        assert.equal(total(), before - 5_000n);
      } catch (error) {
        assert.ok(error instanceof TransactionRefused, error instanceof Error ? error.stack : String(error));
        assert.equal(total(), before);
      }
    }
    assert.ok(taken > 20, String(taken));
    let tokens = 0n;
    for (const [, { data }] of accounts.ownedBy(tokenProgram)) {
      if (data.length === tokenAccountSize) tokens += decodeTokenAccount(data).amount;
    }
    assert.equal(tokens, decodeMint(accounts.get(programs.mint).data).supply);
  } finally {
    await ledger.stop();
  }
});

test('damaged instructions of the everyday programs make no lamports, no tokens and no wrapped SOL', async () => {
  const random = seededRandom(15);
  const ledger = await TestLedger.start({ fund: [service.address] });
  try {
    const { accounts, slots } = ledger.local.ledger;
    const [coin, mine, yours, wrapped, nonce] = ['coin', 'mine', 'yours', 'wrapped', 'nonce'].map(wallet);
    assert.ok(coin && mine && yours && wrapped && nonce);
    const me = service.address;
    const make = (key: typeof coin, size: number, owner = tokenProgram, more = 0n) =>
      createAccount(me, key.address, rentExemptMinimum(size) + more, size, owner);
    const instruction =
      (programId: SolanaAddress) =>
      (data: Writer, ...metas: AccountMeta[]): Instruction => ({
        programId,
        accounts: metas,
        data: data.finish(),
      });
    const [onToken, onSystem, onTable] = [tokenProgram, systemProgram, lookupTableProgram].map(instruction);
    assert.ok(onToken && onSystem && onTable);
    const byte = (value: number) => new Writer().u8(value);
    const word = (value: number) => new Writer().u32(value);
    const bytes = addressBytes(me);
    const open = (key: typeof coin, mint: SolanaAddress) =>
      onToken(byte(tokenInstruction.initializeAccount3).bytes(bytes), writable(key.address), readOnly(mint));
    const initializeMint = byte(tokenInstruction.initializeMint2).u8(2).bytes(bytes).u8(1).bytes(bytes);
    await ledger.send(
      [
        make(coin, mintSize),
        onToken(initializeMint, writable(coin.address)),
        make(mine, tokenAccountSize),
        open(mine, coin.address),
        make(yours, tokenAccountSize),
        open(yours, coin.address),
      ],
      service,
      coin,
      mine,
      yours,
    );
    const recent = readOnly(sysvars.recentBlockhashes);
    const rent = readOnly(sysvars.rent);
    await ledger.send(
      [
        make(wrapped, tokenAccountSize, tokenProgram, 5_000n),
        open(wrapped, nativeMint),
        make(nonce, nonceAccountSize, systemProgram),
        onSystem(word(systemInstruction.initializeNonce).bytes(bytes), writable(nonce.address), recent, rent),
      ],
      service,
      wrapped,
      nonce,
    );
    const slot = BigInt(slots.now().slot);
    const table = findProgramAddress([bytes, new Writer().u64(slot).finish()], lookupTableProgram);
    const holder = signer(me);
    const payer = [holder, writableSigner(me), readOnly(systemProgram)];
    const [c, m, y, w, n] = [coin, mine, yours, wrapped, nonce].map((key) => writable(key.address));
    assert.ok(c && m && y && w && n);
    const t = writable(table.address);
    const samples: Instruction[] = [
      onToken(byte(tokenInstruction.mintTo).u64(500n), c, m, holder),
      onToken(byte(tokenInstruction.transfer).u64(20n), m, y, holder),
      onToken(byte(tokenInstruction.transferChecked).u64(20n).u8(2), y, c, m, holder),
      onToken(byte(tokenInstruction.approve).u64(30n), m, readOnly(owner.address), holder),
      onToken(byte(tokenInstruction.revoke), m, holder),
      onToken(byte(tokenInstruction.burn).u64(3n), m, c, holder),
      onToken(byte(tokenInstruction.setAuthority).u8(3).u8(1).bytes(bytes), m, holder),
      onToken(byte(tokenInstruction.freezeAccount), y, c, holder),
      onToken(byte(tokenInstruction.thawAccount), y, c, holder),
      onToken(byte(tokenInstruction.syncNative), w),
      onToken(byte(tokenInstruction.closeAccount), w, writable(me), holder),
      onToken(byte(tokenInstruction.initializeMultisig2).u8(1), m, holder),
      onToken(byte(tokenInstruction.uiAmountToAmount).bytes(Buffer.from('1.25')), c),
      transferLamports(me, wrapped.address, 700n),
      onSystem(word(systemInstruction.advanceNonce), n, recent, holder),
      onSystem(word(systemInstruction.withdrawNonce).u64(9n), n, writable(me), recent, rent, holder),
      onSystem(word(systemInstruction.authorizeNonce).bytes(bytes), n, holder),
      onSystem(
        word(systemInstruction.transferWithSeed).u64(1n).u64(1n).bytes(Buffer.from('s')).bytes(bytes),
        w,
        holder,
        writable(me),
      ),
      onTable(word(lookupTableInstruction.create).u64(slot).u8(table.bump), t, ...payer),
      onTable(word(lookupTableInstruction.extend).u64(1n).bytes(bytes), t, ...payer),
      onTable(word(lookupTableInstruction.deactivate), t, holder),
      onTable(word(lookupTableInstruction.close), t, holder, writable(owner.address)),
    ];
    const pool = [me, owner.address, nativeMint, systemProgram, tokenProgram, sysvars.clock].concat(
      [c, m, y, w, n, t].map(({ address }) => address),
    );
    const total = () => [...accounts.entries()].reduce((sum, [, { lamports }]) => sum + lamports, 0n);
    let taken = 0;
    for (let round = 0; round < 500; round += 1) {
      const sample = random.pick(samples);
      const metas = sample.accounts.map((meta) =>
        random.below(6) === 0 && !meta.signer ? { ...meta, address: random.pick(pool) } : meta,
      );
      const damaged = {
        programId: random.below(20) === 0 ? random.pick([tokenProgram, systemProgram]) : sample.programId,
        accounts: random.below(15) === 0 ? metas.slice(0, random.below(metas.length)) : metas,
        data: random.below(3) === 0 ? random.mangle(sample.data) : sample.data,
      };
      const before = total();
      try {
        await ledger.send([damaged], service);
        taken += 1;
        assert.equal(total(), before - 5_000n);
      } catch (error) {
        assert.ok(error instanceof TransactionRefused, error instanceof Error ? error.stack : String(error));
        assert.equal(total(), before);
      }
    }
    assert.ok(taken > 50, String(taken));
    let tokens = 0n;
    for (const [, { data, lamports }] of accounts.ownedBy(tokenProgram)) {
      if (data.length !== tokenAccountSize) continue;
      const token = decodeTokenAccount(data);
      if (token.mint === coin.address) tokens += token.amount;
      if (token.nativeReserve !== undefined) assert.ok(token.amount + token.nativeReserve <= lamports);
    }
    assert.equal(tokens, decodeMint(accounts.get(coin.address).data).supply);
  } finally {
    await ledger.stop();
  }
});

test('every method answers nonsense with a result or an error of its own, never with an internal one', async () => {
  const random = seededRandom(8899);
  const ledger = await TestLedger.start({ fund: [service.address] });
  try {
    // The slots that are asked for below are over.
    ledger.skip(10);
    const methods = Object.keys({
      ...chainMethods,
      ...blockMethods,
      ...clusterMethods,
      ...accountMethods,
      ...transactionMethods,
    });
    const values: unknown[] = [
      null,
      true,
      -1,
      0,
      3,
      1.5,
      2 ** 53,
      10 ** 20,
      '',
      'x',
      'base64',
      service.address,
      sysvars.slotHistory,
      programs.mint,
      [],
      [service.address],
      [[]],
      {},
      { encoding: 'jsonParsed' },
      { commitment: 'processed' },
      { mint: programs.mint },
      { programId: tokenProgram },
      { filters: [{ memcmp: {} }] },
      { range: { lastSlot: 5 } },
      { minContextSlot: 2 ** 52 },
      { dataSlice: { offset: 9, length: 2 ** 52 } },
      { limit: 5, before: 'x' },
    ];
    for (const method of methods) {
      for (let round = 0; round < 8; round += 1) {
        const params = Array.from({ length: random.below(4) }, () => random.pick(values));
        // A whole schedule is three megabytes and says nothing new each time.
        if (method === 'getLeaderSchedule') params.unshift({ identity: owner.address });
        const failure = await ledger.rpc(method, ...params).then(
          () => undefined,
          (error: unknown) => JSON.stringify(error),
        );
        assert.ok(!failure?.includes('-32603'), `${method} ${JSON.stringify(params)}: ${failure}`);
      }
    }
    assert.equal(await ledger.rpc('getHealth'), 'ok');
  } finally {
    await ledger.stop();
  }
});
