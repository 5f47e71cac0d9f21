/** `turnpike upload` as a person runs it: a file, a large file that is broken off, a folder. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { resolveManifestPath } from '../../src/formats/manifest/manifest.ts';
import { parseManifest } from '../../src/formats/manifest/reader.ts';
import { startTestUpload, type TestUpload } from '../../src/upload/testing.ts';
import { exportJwk } from '../../src/wallets/arweave/rsa.ts';
import { testArweaveKey } from '../../src/wallets/testing/keys.ts';
import { program } from '../support/program.ts';
import { runCommand, startCommands } from '../support/run-command.ts';
import { seededRandom } from '../support/seeded-random.ts';

const root = resolve(import.meta.dirname, '../..');
const random = seededRandom(9);

describe('turnpike upload', () => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-upload-command-'));
  const wallet = join(folder, 'wallet.json');
  let upload: TestUpload;
  const commands = startCommands();

  before(async () => {
    writeFileSync(wallet, JSON.stringify(exportJwk(testArweaveKey)));
    upload = await startTestUpload();
  });
  after(async () => {
    commands.stop();
    await upload.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const argumentsOf = (path: string, options: readonly string[]): string[] => [
    ...['upload', path, '--wallet', wallet, '--url', upload.url],
    ...options,
  ];
  const command = async (path: string, ...options: string[]) => {
    const { code, out, error } = await commands.run(argumentsOf(path, options), {});
    return { code, out: out.trim(), err: error.trim() };
  };
  const payload = async (address: string): Promise<{ bytes: Buffer; type: unknown }> => {
    const answer = await upload.get(`/v1/data-item/${address.split('/').at(-1)}`);
    assert.equal(answer.status, 200);
    const bytes = answer.bytes.subarray(Number(answer.headers['x-payload-offset']));
    return { bytes, type: answer.headers['x-payload-content-type'] };
  };

  it('says when there are not enough credits, and stores nothing', async () => {
    const file = join(folder, 'poor.txt');
    writeFileSync(file, 'hello');
    const { code, err } = await command(file);
    assert.equal(code, 1);
    assert.equal(err, 'there are not enough credits for this upload');
    assert.equal((await upload.counts()).upload_items, 0);
    await upload.give(testArweaveKey.address, 'arweave', 10n ** 12n);
  });

  it('stores a file and prints its address; again costs nothing', async () => {
    const file = join(folder, 'page.html');
    writeFileSync(file, '<h1>hello</h1>');
    const first = await command(file, '--tag', 'App-Name=test');
    assert.equal(first.code, 0, first.err);
    assert.match(first.out, /^http:\/\/gateway\.test\/[\w-]{43}$/);
    assert.deepEqual(await payload(first.out), { bytes: Buffer.from('<h1>hello</h1>'), type: 'text/html' });
    const balance = await upload.balance(testArweaveKey.address);
    const again = await command(file, '--tag', 'App-Name=test');
    assert.equal(again.out, first.out);
    assert.equal(await upload.balance(testArweaveKey.address), balance);
  });

  it('goes on where a broken upload stopped', async () => {
    const file = join(folder, 'large.bin');
    const data = random.bytes(64 * 1024 * 1024);
    writeFileSync(file, data);
    const parts = async () =>
      (await upload.sql.get<{ n: number }>('SELECT COUNT(*) AS n FROM upload_parts'))?.n ?? 0;
    // More than the four parts that are under way at once, and less than all of them.
    const narrow = await narrowWay(upload.url, 45 * 1024 * 1024);
    const args = [program, ...argumentsOf(file, ['--url', narrow.url])];
    await runCommand(process.execPath, args, { cwd: root }, async (broken) => {
      while ((await parts()) === 0) await sleep(5);
      broken.kill('SIGKILL');
    });
    await narrow.close();
    const there = await parts();
    assert.ok(there > 0 && there < 7, `${there} of 7 parts were there`);
    const { code, out, err } = await command(file);
    assert.equal(code, 0, err);
    assert.ok((await payload(out)).bytes.equals(data));
    const sessions = await upload.sql.get<{ n: number }>('SELECT COUNT(*) AS n FROM upload_sessions');
    assert.equal(sessions?.n, 1, 'the second run found the upload of the first');
  });

  it('stores a folder with a manifest', async () => {
    const site = join(folder, 'site');
    mkdirSync(join(site, 'css'), { recursive: true });
    writeFileSync(join(site, 'index.html'), '<h1>site</h1>');
    writeFileSync(join(site, '404.html'), 'not here');
    writeFileSync(join(site, 'css', 'site.css'), 'h1 {}');
    writeFileSync(join(site, '.secret'), 'no');
    const { code, out, err } = await command(site, '--fallback', '404.html');
    assert.equal(code, 0, err);
    const { bytes, type } = await payload(out);
    assert.equal(type, 'application/x.arweave-manifest+json');
    const manifest = parseManifest(bytes);
    assert.ok(manifest !== undefined);
    assert.deepEqual([...manifest.paths.keys()].sort(), ['404.html', 'css/site.css', 'index.html']);
    const page = async (path: string) => {
      const hit = resolveManifestPath(manifest, path);
      return (await payload(hit?.id ?? '')).bytes.toString();
    };
    assert.equal(await page(''), '<h1>site</h1>');
    assert.equal(await page('css/site.css'), 'h1 {}');
    assert.equal(await page('nowhere'), 'not here');
  });

  it('says what is wrong with its arguments', async () => {
    assert.equal(
      (await command(join(folder, 'nowhere'))).err,
      `there is no file or folder ${join(folder, 'nowhere')}`,
    );
    assert.equal((await command(folder, '--index', 'nope.html')).code, 1);
    assert.equal((await command(wallet, '--tag', 'x')).code, 64);
    assert.equal((await command(wallet, '--paid-by', 'nobody')).code, 64);
  });
});

/** A way to the service on which only so many bytes arrive, and nothing of what follows them. */
async function narrowWay(to: string, bytes: number): Promise<{ url: string; close(): Promise<void> }> {
  let left = bytes;
  const server = createServer((near) => {
    const far = connect(Number(new URL(to).port), '127.0.0.1');
    near.on('data', (piece: Buffer) => {
      left -= piece.length;
      if (left >= 0) far.write(piece);
    });
    far.on('data', (piece: Buffer) => near.write(piece));
    near.on('error', () => {}).on('close', () => far.destroy());
    far.on('error', () => {}).on('close', () => near.destroy());
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  return {
    url: `http://127.0.0.1:${address.port}`,
    close: () => new Promise((done) => server.close(() => done())),
  };
}
