import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '../../../test/support/seeded-random.ts';
import { antAddresses } from '../../formats/solana/accounts-ant.ts';
import { arnsAddresses, arnsConfig } from '../../formats/solana/accounts-arns.ts';
import { antBuilder } from '../../formats/solana/instructions-ant.ts';
import { arnsBuilder } from '../../formats/solana/instructions-arns.ts';
import type { Instruction } from '../../formats/solana/message.ts';
import { coreProgram, namePrograms, systemProgram, tokenProgram } from '../../formats/solana/programs.ts';
import {
  associatedTokenAddress,
  decodeMint,
  decodeTokenAccount,
  tokenAccountSize,
} from '../../formats/solana/token.ts';
import { TransactionRefused } from './ledger.ts';
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
