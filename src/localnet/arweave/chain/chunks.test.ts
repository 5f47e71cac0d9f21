import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chunkBody } from '../../../../test/support/local-arweave.ts';
import { seededRandom } from '../../../../test/support/seeded-random.ts';
import { dataTreeOf } from '../../../formats/arweave/data-root.ts';
import { NodeError } from '../errors.ts';
import { parseChunk } from './chunks.ts';

const data = Buffer.from('a chunk of its own');
const tree = dataTreeOf(data);
const good = chunkBody(data, tree, data.length - 1, tree.proof(0).dataPath);

test('the body of POST /chunk becomes bytes and numbers', () => {
  assert.deepEqual(parseChunk(good), {
    dataRoot: tree.root,
    dataSize: BigInt(data.length),
    dataPath: tree.proof(0).dataPath,
    offset: BigInt(data.length - 1),
    bytes: data,
  });
  assert.equal(parseChunk({ ...good, offset: undefined }).offset, undefined);
});

test('20,000 damaged bodies are read or refused as invalid_json, nothing else', () => {
  const random = seededRandom(91);
  const text = Buffer.from(JSON.stringify(good));
  const values: unknown[] = [
    null,
    true,
    -1,
    1.5,
    '',
    'A',
    '=',
    '1e3',
    '0x10',
    '-1',
    ' 1',
    [],
    {},
    'x'.repeat(500),
  ];
  const fields = Object.keys(good);
  let refused = 0;
  for (let round = 0; round < 20_000; round += 1) {
    let body: unknown;
    if (round % 2 === 0) {
      try {
        body = JSON.parse(random.mangle(text).toString('latin1'));
      } catch {
        continue;
      }
    } else {
      body = { ...good, [random.pick(fields)]: random.pick(values) };
    }
    try {
      parseChunk(body);
    } catch (error) {
      assert.ok(error instanceof NodeError, String(error));
      assert.deepEqual(error.body, { error: 'invalid_json' });
      refused += 1;
    }
  }
  assert.ok(refused > 5_000);
});
