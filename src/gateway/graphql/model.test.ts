/** Random records and random questions: the index must answer exactly what a plain list would. */
import { it } from 'node:test';
import { seededRandom } from '../../../test/support/seeded-random.ts';
import { createLogger } from '../../kernel/log.ts';
import { forEachEngine } from '../../storage/sql/testing.ts';
import { migrations } from '../chain-index/migrations.ts';
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
});
