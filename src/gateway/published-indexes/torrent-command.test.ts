import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { buildTestBand, testPublisher } from '../../../test/support/bands.ts';
import { eventually } from '../../../test/support/eventually.ts';
import { StartupError } from '../../kernel/errors.ts';
import { silentLog } from '../../kernel/testing.ts';
import { indexFolders } from './folders.ts';
import { Catalog } from './publication/catalog.ts';
import { type Band, verifyPublication } from './publication/document.ts';
import { TorrentCommand } from './torrent-command.ts';

const root = mkdtempSync(join(tmpdir(), 'turnpike-torrent-command-'));
after(() => rmSync(root, { recursive: true, force: true }));

/** Writes down with what it was begun, then does as its first argument says. */
const standIn = join(root, 'program.mjs');
writeFileSync(
  standIn,
  `import { appendFileSync } from 'node:fs';
   const [mode, runs, ...args] = process.argv.slice(2);
   appendFileSync(runs, JSON.stringify({ pid: process.pid, args, key: process.env.ADMIN_API_KEY }) + '\\n');
   if (mode === 'hand-over') process.exit(0);
   if (mode === 'fail') { console.error('x'.repeat(100000), 'no such luck'); process.exit(3); }
   setInterval(() => {}, 1000);`,
);

interface Run {
  readonly pid: number;
  readonly args: readonly string[];
  readonly key?: string;
}

let made = 0;
async function publishBand(names: readonly string[], dataDir = join(root, `data-${++made}`)) {
  const id = await buildTestBand(dataDir, names);
  await testPublisher(dataDir).publish();
  const bands = verifyPublication(readFileSync(indexFolders(dataDir).document)).indexes[0]?.bands ?? [];
  const band = bands.find((one) => one.id === id);
  assert.ok(band?.torrent !== undefined);
  return { dataDir, band, infohash: band.torrent.infohashV1 };
}

function start(dataDir: string, mode: string, log = silentLog) {
  const folders = indexFolders(dataDir);
  const runsFile = join(dataDir, 'runs');
  const command = new TorrentCommand({
    command: ` ${process.execPath}  ${standIn} ${mode} ${runsFile} --dir={folder} {torrent} {pid} `,
    catalog: new Catalog(folders, silentLog),
    folders,
    log,
    refreshMs: 20,
    backoff: { firstMs: 10, longestMs: 20 },
  });
  command.start();
  const runs = (): Run[] =>
    existsSync(runsFile)
      ? readFileSync(runsFile, 'utf8')
          .split('\n')
          // What is not ended is being written.
          .slice(0, -1)
          .map((line) => JSON.parse(line))
      : [];
  return { command, folders, runs };
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

const sha256 = (path: string) => createHash('sha256').update(readFileSync(path)).digest('hex');

function checkFolder(folder: string, band: Band): void {
  const [name = ''] = readdirSync(folder);
  for (const file of band.files) assert.equal(sha256(join(folder, name, file.name)), file.sha256, file.name);
  for (const pad of readdirSync(join(folder, name, '.pad'))) {
    assert.equal(statSync(join(folder, name, '.pad', pad)).size, Number(pad));
  }
}

test('the program gets the torrent, a folder with copies of its files, and nothing secret', async () => {
  const { dataDir, band, infohash } = await publishBand(['a', 'b']);
  process.env.ADMIN_API_KEY = 'a key that is nobody’s business';
  const { command, folders, runs } = start(dataDir, 'stay');
  try {
    const [run] = await eventually('it runs', async () => (runs().length > 0 ? runs() : undefined));
    const folder = join(folders.seeds, infohash);
    assert.deepEqual(run?.args, [
      `--dir=${folder}`,
      join(folders.torrents, `${infohash}.torrent`),
      String(process.pid),
    ]);
    assert.equal(run.key, undefined);
    checkFolder(folder, band);
    // What the program does to its copy changes nothing that is published.
    const [name = ''] = readdirSync(folder);
    const [file] = band.files;
    assert.ok(file !== undefined);
    writeFileSync(join(folder, name, file.name), 'spoilt');
    assert.equal(sha256(join(folders.blobs, file.sha256)), file.sha256);
    await command.stop();
    assert.equal(isAlive(run.pid), false, 'it ends with the gateway');
    assert.equal(runs().length, 1);
  } finally {
    delete process.env.ADMIN_API_KEY;
    await command.stop();
  }
});

test('another publication ends the program of a band that is gone, removes its folder and begins the next', async () => {
  const first = await publishBand(['a']);
  const { command, folders, runs } = start(first.dataDir, 'stay');
  try {
    await eventually('the first runs', async () => runs().length === 1);
    const second = await publishBand(['a', 'b'], first.dataDir);
    await eventually('the second runs', async () => runs().length === 2);
    assert.equal(isAlive(runs()[0]?.pid ?? 0), false);
    assert.ok(runs()[1]?.args[1]?.includes(second.infohash));
    assert.deepEqual(
      readdirSync(folders.seeds).filter((name) => !name.startsWith('.')),
      [second.infohash],
    );
    checkFolder(join(folders.seeds, second.infohash), second.band);
  } finally {
    await command.stop();
  }
  assert.equal(isAlive(runs()[1]?.pid ?? 0), false);
});

/** As long as it takes to run a program three times, however busy the machine is. */
async function threeRuns(): Promise<void> {
  const { command, runs } = start((await publishBand(['beside'])).dataDir, 'fail');
  await eventually('another is run three times', async () => runs().length >= 3);
  await command.stop();
}

test('a program that fails is run again, its last words are logged and no more; one that ends well is not', async () => {
  const { dataDir } = await publishBand(['a']);
  const failures: string[] = [];
  const log = Object.assign(Object.create(silentLog), {
    warn: ({ failure }: { failure: string }) => failures.push(failure),
  });
  const failing = start(dataDir, 'fail', log);
  await eventually('it is run again and again', async () => failing.runs().length >= 3);
  await failing.command.stop();
  assert.match(failures[0] ?? '', /^ended with code 3: x+ no such luck$/);
  assert.ok(failures.every(({ length }) => length < 2_200));
  const handing = start((await publishBand(['b'])).dataDir, 'hand-over');
  await eventually('it was run', async () => handing.runs().length === 1);
  await threeRuns();
  await handing.command.stop();
  assert.equal(handing.runs().length, 1);
});

test('of several processes of a gateway one has the program, and another takes over', async () => {
  const { dataDir } = await publishBand(['a']);
  const first = start(dataDir, 'stay');
  await eventually('the first runs it', async () => first.runs().length === 1);
  const second = start(dataDir, 'stay');
  await threeRuns();
  assert.equal(second.runs().length, 1);
  await first.command.stop();
  await eventually('the second takes over', async () => second.runs().length === 2);
  await second.command.stop();
});

test('a program that is not there is told of, and a command without the torrent is refused', async () => {
  const { dataDir } = await publishBand(['a']);
  const folders = indexFolders(dataDir);
  const failures: string[] = [];
  const log = Object.assign(Object.create(silentLog), {
    warn: ({ failure }: { failure: string }) => failures.push(failure),
  });
  const options = { catalog: new Catalog(folders, silentLog), folders, log, refreshMs: 20 };
  const command = new TorrentCommand({ ...options, command: '/nowhere/aria2c {torrent}' });
  command.start();
  await eventually('it is told', async () => failures.length > 0);
  await command.stop();
  assert.match(failures[0] ?? '', /ENOENT/);
  for (const wrong of ['', ' ', 'aria2c', '{torrent}', 'aria2c {folder}'])
    assert.throws(() => new TorrentCommand({ ...options, command: wrong }), StartupError, wrong);
});
