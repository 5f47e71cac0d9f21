/** Random records and random questions: the index must answer exactly what a plain list would. */
import { it } from 'node:test';
import { seededRandom } from '../../../test/support/seeded-random.ts';
import { createLogger } from '../../kernel/log.ts';
import { forEachEngine } from '../../storage/sql/testing.ts';
import { migrations } from '../chain-index/migrations.ts';
import { SegmentBuilder } from '../chain-index/segment-builder.ts';
import { SqlGatewayIndex } from '../chain-index/sql-index.ts';
import { GraphqlService } from './execute.ts';
import { RandomWorld } from './testing.ts';

const log = createLogger({ name: 'test', level: 'silent', format: 'json' });

forEachEngine((_engine, open) => {
  it('answers random questions as a plain list would, page by page, also after a fork', async () => {
    const sql = await open(migrations);
    const world = new RandomWorld((now) => {
      const index = new SqlGatewayIndex(sql, now);
      return { index, service: new GraphqlService(index, log) };
    }, seededRandom(20_240_607).fraction);
    await world.fill();
    for (let round = 0; round < 60; round += 1) await world.check(world.ask());

    await world.fork(8);
    for (let round = 0; round < 25; round += 1) await world.check(world.ask());
  });

  it('answers them from segments too: made, stale, made anew, and with what is in none', async () => {
    const sql = await open(migrations);
    const random = seededRandom(20_261_117);
    const world = new RandomWorld((now) => {
      const index = new SqlGatewayIndex(sql, now, undefined, undefined, 1);
      return { index, service: new GraphqlService(index, log) };
    }, random.fraction);
    const segments = new SegmentBuilder(sql, { small: 5, large: 32 });
    const make = async () => {
      while (await segments.round());
    };
    const ask = async (rounds: number) => {
      for (let round = 0; round < rounds; round += 1) await world.check(world.ask());
    };
    world.afterWrite = () => segments.round();
    await world.fill();
    await make();
    await ask(25);

    world.afterWrite = async () => {};
    for (const name of ['late', 'later']) {
      for (let count = 0; count < 3; count += 1) {
        const bundle = world.pick(world.bundles);
        await world.addItems(bundle, 4, `${name} ${count}`);
      }
      await ask(6);
      if (name === 'late') await segments.round();
      else await make();
      await ask(6);
    }

    await world.fork(8);
    await ask(6);
    await make();
    await ask(10);
  });
});
