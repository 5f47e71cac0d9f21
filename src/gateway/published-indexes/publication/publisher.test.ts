import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { buildTestBand, testPublisher } from '../../../../test/support/bands.ts';
import { StartupError } from '../../../kernel/errors.ts';
import { silentLog } from '../../../kernel/testing.ts';
import { indexFolders } from '../folders.ts';
import { Catalog } from './catalog.ts';
import { verifyPublication } from './document.ts';

const dataDir = mkdtempSync(join(tmpdir(), 'turnpike-publisher-'));
after(() => rmSync(dataDir, { recursive: true, force: true }));
const folders = indexFolders(dataDir);

test('a damaged document is no publication, and the next one takes its place with the next sequence', async () => {
  await buildTestBand(dataDir, ['one', 'two']);
  assert.equal((await testPublisher(dataDir).publish()).sequence, 1);
  const state = readFileSync(folders.state);
  truncateSync(folders.document, 100);
  const catalog = new Catalog(folders, silentLog);
  assert.deepEqual([await catalog.current(), catalog.isDamaged], [undefined, true]);

  writeFileSync(folders.state, 'not JSON either');
  await assert.rejects(testPublisher(dataDir).publish(), (error) => {
    assert.ok(error instanceof StartupError);
    assert.match(error.message, /is damaged and its sequence lost/);
    return true;
  });
  assert.equal(readFileSync(folders.document).length, 100, 'nothing changed');

  writeFileSync(folders.state, state);
  const { published, sequence } = await testPublisher(dataDir).publish();
  assert.deepEqual([published, sequence], [true, 2]);
  const document = verifyPublication(readFileSync(folders.document));
  assert.equal(document.previousManifestSha256, null);
  const fresh = new Catalog(folders, silentLog);
  assert.deepEqual([(await fresh.current())?.publication.sequence, fresh.isDamaged], [2, false]);
});
