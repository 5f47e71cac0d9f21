import assert from 'node:assert/strict';
import { it } from 'node:test';
import { forEachEngine } from '../../storage/sql/testing.ts';
import { migrations } from '../chain-index/migrations.ts';
import { SqlGatewayIndex } from '../chain-index/sql-index.ts';
import { entry, header, rawTags } from '../chain-index/testing.ts';
import { matchingTerms } from './tag-patterns.ts';

forEachEngine((_engine, open) => {
  it('lets others have their turn while hostile patterns meet hostile values', async () => {
    const index = new SqlGatewayIndex(await open(migrations));
    const entries = Array.from({ length: 40 }, (_, at) =>
      entry(header(`item ${at}`, { tags: rawTags({ Text: 'a'.repeat(2_900) + String(at) }) })),
    );
    const prepared = await index.writer.prepare(entries);
    await index.sql.transaction((tx) => index.writer.put(tx, prepared));
    const patterns = Array.from({ length: 100 }, (_, at) => `*${'a'.repeat(150 + at)}b`);
    let asked = 0;
    const signal = {
      throwIfAborted() {
        asked += 1;
        if (asked > 5) throw new Error('long enough');
      },
    };
    await assert.rejects(matchingTerms(index.terms, 'WILDCARD', 'Text', patterns, signal), /long enough/);
    assert.deepEqual(await matchingTerms(index.terms, 'WILDCARD', 'Text', ['*a7', 'b*'], undefined), [
      ...(await matchingTerms(index.terms, 'WILDCARD', 'Text', ['*a7'], undefined)),
    ]);
  });
});
