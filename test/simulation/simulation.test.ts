import './machine.ts';
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { open, readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { OutcomeUnknown } from '../../src/storage/sql/sql.ts';
import { arweavePublicKey, signPss, verifyPss } from '../../src/wallets/arweave/rsa.ts';
import {
  ed25519PublicKey,
  ed25519RawPublicKey,
  signEd25519,
  verifyEd25519,
} from '../../src/wallets/solana/ed25519.ts';
import { ed25519TestKey, testArweaveKey } from '../../src/wallets/testing/keys.ts';
import { ArweaveNetwork } from './arweave.ts';
import { SimulatedDatabase } from './database.ts';
import { Network } from './network.ts';
import { Restorer } from './restorer.ts';
import { simulate } from './run.ts';
import { keptSeeds } from './seeds.ts';
import { World } from './world.ts';

const table = [{ id: 'one', up: 'CREATE TABLE facts (name TEXT PRIMARY KEY)' }];

describe('a simulated world', () => {
  for (const [only, told] of [
    ['uploads', 'has a receipt'],
    ['upload-restores', 'restores the ledger'],
    ['upload-parts', 'in parts'],
    ['names', 'is completed'],
    ['payments', 'with dollars'],
    ['restores', 'has it reconciled'],
    ['reading', 'points at'],
  ] as const) {
    it(`is the same again for the same seed: ${only}`, async () => {
      const first = await simulate({ seed: 9, hours: 1, only });
      const again = await simulate({ seed: 9, hours: 1, only });
      assert.equal(again.story.text(), first.story.text());
      assert.equal(again.events, first.events);
      assert.ok(first.story.lines.some(({ what }) => what.includes(told)));
    });
  }

  for (const { found, ...kept } of keptSeeds) {
    it(`does not break by seed ${kept.seed} any more: ${found}`, async () => {
      const { broken, story } = await simulate(kept);
      assert.equal(broken, undefined, story.text(60));
    });
  }

  it('has its own time and chance, and leaves those of everybody else alone', async () => {
    const drawn: string[] = [];
    const before = Date.now();
    for (const seed of [1, 1, 2]) {
      const world = new World(seed);
      world.process('a').start(async (life) => {
        await new Promise((resolve) => setTimeout(resolve, 86_400_000));
        drawn.push(`${new Date().toISOString()} ${life.now()} ${randomUUID()}`);
      });
      await world.run(90_000_000);
    }
    assert.match(drawn[0] ?? '', /^2027-01-02T00:00:00\.000Z /);
    assert.equal(drawn[0], drawn[1]);
    assert.notEqual(drawn[0], drawn[2]);
    assert.ok(Math.abs(Date.now() - before) < 60_000, 'the machine has its own time');
  });

  it('goes on to the next event when no code is left that can run, and no file is read', async () => {
    const world = new World(1);
    const told: string[] = [];
    world.process('a').start(async (life) => {
      life.after(10, () => {
        let left = 50;
        const turn = (): void => {
          left -= 1;
          if (left === 0) told.push('ticks');
          else if (left % 2 === 0) process.nextTick(turn);
          else void Promise.resolve().then(turn);
        };
        turn();
      });
      life.after(10, () => told.push('after ticks'));
      life.after(20, async () => {
        await readFile(import.meta.filename);
        const handle = await open(import.meta.filename);
        await handle.stat();
        await handle.close();
        told.push('file');
      });
      life.after(20, () => told.push('after the file'));
    });
    await world.run(1_000);
    assert.deepEqual(told, ['ticks', 'after ticks', 'file', 'after the file']);
  });

  it('has signatures that hold for one key and one message', async () => {
    const world = new World(1);
    const held: boolean[] = [];
    world.process('a').start(async () => {
      const key = ed25519TestKey('a');
      const signature = signEd25519(key, Buffer.from('one'));
      for (const [name, message] of [
        ['a', 'one'],
        ['a', 'two'],
        ['b', 'one'],
      ] as const) {
        const open = ed25519PublicKey(ed25519RawPublicKey(ed25519TestKey(name)));
        held.push(open !== undefined && verifyEd25519(open, Buffer.from(message), signature));
      }
      const signed = await signPss(testArweaveKey.privateKey, Buffer.from('one'));
      for (const message of ['one', 'two']) {
        const open = arweavePublicKey(testArweaveKey.modulus);
        held.push(open !== undefined && verifyPss(open, Buffer.from(message), signed));
      }
    });
    await world.run(1_000);
    assert.deepEqual(held, [true, false, false, true, false]);
  });

  it('kills a process at any await, and holds one', async () => {
    const world = new World(1);
    const told: string[] = [];
    const killed = world.process('killed');
    killed.start(async (life) => {
      for (let step = 1; ; step += 1) {
        await life.wait(10);
        told.push(`step ${step}`);
      }
    });
    const held = world.process('held');
    held.start(async (life) => {
      await life.wait(10);
      told.push(`woke at ${world.time}`);
    });
    held.hold(500);
    world.schedule(25, () => killed.kill());
    await world.run(1_000);
    assert.deepEqual(told, ['step 1', 'step 2', 'woke at 500']);
  });

  it('has no fork as deep as what counts as permanent, though its nodes are never up together', async () => {
    const world = new World(1);
    const { nodes } = new ArweaveNetwork(world, new Network(world), 2);
    const [one, other] = nodes;
    assert.ok(one && other);
    const heights = async (): Promise<number[]> => {
      await world.run(world.time + 60 * 60_000);
      return nodes.map(({ height }) => height);
    };
    other.down();
    const [high = 0, low = 0] = await heights();
    assert.ok(high > low + 20);
    one.down();
    other.up();
    assert.deepEqual(await heights(), [high, low], 'it would go on from where it was');
    one.up();
    const [after = 0, caughtUp = 0] = await heights();
    assert.ok(after > high && caughtUp > high);
  });

  it('excuses what a ledger said that was lost, also where it was heard after the restore', async () => {
    const world = new World(1);
    const ledger = new SimulatedDatabase(world, 'facts', [
      { id: 'numbered', up: 'CREATE TABLE facts (n INTEGER PRIMARY KEY AUTOINCREMENT)' },
    ]);
    const restorer = new Restorer({ world, name: 'operator', isDay: () => true, ledger, processes: [] });
    restorer.process.start(async (life) => {
      await life.wait(1_000);
      const backedUpAt = await restorer.backUp(life);
      await life.wait(2_000);
      await restorer.loseAndRestore(backedUpAt);
    });
    await world.run(60_000);
    const isExcused = (askedAt: number, at: number) => restorer.covers({ askedAt, at });
    assert.ok(isExcused(1_500, 2_000) && isExcused(500, 1_500));
    assert.ok(isExcused(2_900, 3_900), 'the answer was on its way');
    assert.ok(isExcused(500, 3_900));
    assert.ok(!isExcused(500, 900), 'it was there when the backup was made');
    assert.ok(!isExcused(3_100, 3_200), 'the restored ledger knows what it says');
  });

  it('loses what was not committed when a process dies, and nothing else', async () => {
    const outcomes = new Set<string>();
    for (let delay = 0; delay < 12; delay += 0.5) {
      const world = new World(7);
      const database = new SimulatedDatabase(world, 'facts', table);
      const writer = world.process('writer');
      let isAnswered = false;
      writer.start(async () => {
        const sql = database.open();
        await sql.transaction(async (tx) => {
          await tx.run('INSERT INTO facts (name) VALUES (?)', 'a');
          await tx.run('INSERT INTO facts (name) VALUES (?)', 'b');
        });
        isAnswered = true;
      });
      world.schedule(delay, () => writer.kill());
      await world.run(60_000);
      const { length } = database.look('SELECT name FROM facts');
      assert.ok(length === 0 || length === 2, 'all or nothing');
      assert.ok(!isAnswered || length === 2, 'what was answered is there');
      outcomes.add(`${length} ${isAnswered}`);
    }
    assert.ok(outcomes.has('0 false') && outcomes.has('2 true'), [...outcomes].join(', '));
  });

  it('tells a writer that nobody knows what became of a commit', async () => {
    const world = new World(3);
    const database = new SimulatedDatabase(world, 'facts', table);
    database.weather.loseCommits = 1;
    let unknown = 0;
    world.process('writer').start(async () => {
      const sql = database.open();
      for (let index = 0; index < 20; index += 1) {
        await sql
          .transaction((tx) => tx.run('INSERT INTO facts (name) VALUES (?)', String(index)))
          .catch((error: unknown) => {
            if (error instanceof OutcomeUnknown) unknown += 1;
          });
      }
    });
    await world.run(60_000);
    const { length } = database.look('SELECT name FROM facts');
    assert.equal(unknown, 20);
    assert.ok(length > 0 && length < 20, 'some happened, some did not');
  });
});
