import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createStatements } from './tables.ts';

const alone = { cluster: undefined, replicaPath: undefined };

it('asks servers for codecs only where they have them', () => {
  assert.doesNotMatch(createStatements(18_016, alone).join(), /CODEC/);
  assert.match(createStatements(24_008, alone).join(), /pos UInt64 CODEC\(Delta, ZSTD\(1\)\)/);
});

it('spreads the tables over a cluster: postings by term, records by id', () => {
  const statements = createStatements(24_008, { cluster: 'shards', replicaPath: '/tables' }).join('\n');
  assert.match(statements, /CREATE TABLE IF NOT EXISTS turnpike_postings_local \(/);
  assert.match(
    statements,
    /Distributed\(shards, currentDatabase\(\), turnpike_postings_local, cityHash64\(term\)\)/,
  );
  assert.match(
    statements,
    /Distributed\(shards, currentDatabase\(\), turnpike_records_local, cityHash64\(tie\)\)/,
  );
  assert.match(
    statements,
    /ReplicatedReplacingMergeTree\('\/tables\/\{shard\}\/turnpike_ids', '\{replica\}'\)/,
  );
});
