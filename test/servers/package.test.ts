/** The package as others meet it: packed, installed in an empty folder, started on an older Node and on this one. */
import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, type SpawnOptions, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, test } from 'node:test';
import { variables } from '../../src/config/variables.ts';
import { eventually } from '../support/eventually.ts';
import { packageName, packedFiles, packTurnpike } from '../support/pack.ts';
import { freePorts } from '../support/stack.ts';

const root = resolve(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'turnpike-pack-'));
/** Paths with a space in them are where careless programs fail. */
const project = join(folder, 'my project');
const installed = join(project, 'node_modules', packageName);
const program = join(project, 'node_modules', '.bin', 'turnpike');
const olderNode = findOlderNode();
const nodes = [process.execPath, ...(olderNode === undefined ? [] : [olderNode])];
let tarball = '';

before(() => {
  tarball = packTurnpike(folder);
  mkdirSync(project);
  execFileSync('npm', ['init', '-y'], { cwd: project, stdio: 'ignore' });
  execFileSync('npm', ['install', '--no-audit', '--no-fund', tarball], { cwd: project, stdio: 'ignore' });
});

after(() => rmSync(folder, { recursive: true, force: true }));

describe('the packed package', () => {
  test('has what runs and nothing else', () => {
    const shipped = readdirSync(installed, { recursive: true, withFileTypes: true })
      .filter((file) => file.isFile())
      .map((file) => join(file.parentPath, file.name).slice(installed.length + 1));
    assert.deepEqual(shipped.sort(), packedFiles().sort());
    const expected =
      /^(bin\/[\w-]+\.js|dist\/.+|deploy\/.+|docs\/[\w-]+\.md|Containerfile|package\.json|README\.md|LICENSE)$/;
    assert.deepEqual(
      shipped.filter((file) => !expected.test(file)),
      [],
    );
    assert.deepEqual(
      shipped.filter((file) => /\.test\.[cm]?[jt]s|\.tsx?$/.test(file) && !/\.d\.c?ts$/.test(file)),
      [],
    );
    const inputs = shipped
      .filter((file) => file.endsWith('.map'))
      .flatMap((file): string[] => JSON.parse(readFileSync(join(installed, file), 'utf8')).sources);
    const testModule = /\.test\.ts$|(?<!kit)\/testing(\.ts$|\/|-)|\/test\//;
    const ours = inputs.filter((source) => source.startsWith('../src/'));
    assert.ok(ours.length > 500);
    assert.deepEqual(
      ours.filter((source) => testModule.test(source)),
      [],
      'no test module is inside',
    );
    const keys = shipped.filter((file) =>
      /PRIVATE KEY|"qi":/.test(readFileSync(join(installed, file), 'utf8')),
    );
    assert.deepEqual(
      keys.filter((file) => !/^dist\/.*\.js$/.test(file)),
      [],
      'no key file is shipped',
    );
  });

  test('has every page that its pages for operators lead to', () => {
    const pages = ['docs/production.md', 'deploy/README.md'];
    for (const page of pages) {
      const links = [...readFileSync(join(installed, page), 'utf8').matchAll(/\]\((?!https?:|#)([^)#]+)/g)];
      for (const [, link = ''] of links) {
        const target = join(page, '..', link);
        assert.ok(existsSync(join(installed, target)), `${page}: ${link}`);
        if (target.endsWith('.md') && page === 'docs/production.md') pages.push(target);
      }
    }
    assert.ok(pages.length >= 6);
    assert.ok(!existsSync(join(installed, 'docs/decisions.md')));
  });

  test('names only files that are there, and can be published', () => {
    const { bin, exports, ...others } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
    assert.equal(others.name, packageName);
    assert.notEqual(others.private, true);
    const hasKit = existsSync(join(root, 'src/kit/testing.ts'));
    const named = [...Object.values(bin), ...leaves(hasKit ? exports : exports['./package.json'])];
    assert.deepEqual(
      named.filter((file) => !existsSync(join(installed, String(file)))),
      [],
    );
  });

  test('carries the licence of every package that is inside', () => {
    const licences = readFileSync(join(installed, 'dist/third-party-licenses.txt'), 'utf8');
    for (const inside of ['fastify', 'undici', 'graphql', 'typebox', 'pino', 'stripe', 'pg', 'lru-cache']) {
      assert.match(licences, new RegExp(`^${inside} \\d+\\.\\d+\\.\\d+`, 'm'));
    }
  });

  for (const node of nodes) {
    const version = execFileSync(node, ['--version'], { encoding: 'utf8' }).trim();
    describe(`on Node ${version}`, () => {
      test('a file that was uploaded comes back from its bundle, and pages are found', async () => {
        const run = startProgram(node);
        try {
          const urls = await run.urls;
          const command = (...args: string[]): string => {
            const ended = spawnSync(node, [program, ...args], {
              cwd: project,
              env: run.env,
              encoding: 'utf8',
            });
            assert.equal(ended.status, 0, ended.stderr);
            return ended.stdout.trim();
          };
          const wallet = `wallet of ${version}.json`;
          command('wallet', 'create', wallet);
          command('ledger', 'credit', command('wallet', 'address', wallet), '0.5');
          const address = command('upload', 'package.json', '--wallet', wallet, '--url', urls.upload ?? '');
          const id = /[A-Za-z0-9_-]{43}/.exec(address)?.[0] ?? '';
          const query = `{ transaction(id: "${id}") { bundledIn { id } block { height } } }`;
          await eventually('the item is read from its bundle', async () => {
            await fetch(`${urls.arweave}/mine`);
            const answer = await fetch(`${urls.gateway}/graphql`, {
              method: 'POST',
              headers: { 'content-type': 'application/json' },
              body: JSON.stringify({ query }),
            });
            return /"height":\d/.test(await answer.text());
          });
          const content = await (await fetch(`${urls.gateway}/raw/${id}`)).text();
          assert.equal(content, readFileSync(join(project, 'package.json'), 'utf8'));
          const page = await (await fetch(`${urls.admin}/`)).text();
          const style = await fetch(`${urls.admin}${/href="(\/assets\/[^"]+\.css)"/.exec(page)?.[1]}`);
          assert.equal(style.status, 200);
          const consolePage = await (await fetch(`${urls.console}/local`)).text();
          const script = /src="(\/assets\/main-[^"]+\.js)"/.exec(consolePage)?.[1];
          assert.equal((await fetch(`${urls.console}${script}`)).status, 200);
          assert.equal(await run.end('SIGTERM'), 0);
          assert.equal(await answers(urls.arweave), false);
        } finally {
          await run.end('SIGKILL');
        }
      });

      test('Ctrl-C is a clean exit; a wrong command ends with its own code', async () => {
        const run = startProgram(node, ['router']);
        await run.urls;
        assert.equal(await run.end('SIGINT'), 0);
        assert.equal(spawnSync(node, [program, 'no-such-command'], { cwd: project }).status, 64);
      });

      test('nothing stays behind when it is killed', async () => {
        const run = startProgram(node, ['router']);
        const { router } = await run.urls;
        await run.end('SIGKILL');
        await eventually('the port is free', async () => !(await answers(router)));
      });
    });
  }

  test('an older Node for which none came along says what to do, in one line', {
    skip: olderNode === undefined && 'this machine has no older Node',
  }, () => {
    const alone = join(folder, 'alone');
    cpSync(installed, alone, { recursive: true });
    const { status, stderr } = spawnSync(olderNode ?? '', [join(alone, 'bin/turnpike.js'), 'help'], {
      encoding: 'utf8',
    });
    assert.equal(status, 1);
    assert.match(
      stderr,
      /^turnpike needs Node 24 or newer, this is \d+\.\d+\.\d+, .*https:\/\/nodejs\.org.*\n$/,
    );
  });

  test('npx runs it from the tarball, and so does a global install', () => {
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    const env = environment();
    const once = execFileSync('npx', ['--yes', '--package', tarball, 'turnpike', 'version'], {
      cwd: folder,
      encoding: 'utf8',
      env,
    });
    assert.equal(once.trim(), version);
    const prefix = join(folder, 'global');
    execFileSync('npm', ['install', '--global', '--prefix', prefix, tarball], { stdio: 'ignore', env });
    const globally = join(prefix, 'bin', 'turnpike');
    assert.equal(execFileSync(globally, ['version'], { encoding: 'utf8', env }).trim(), version);

    // As another user, to whom the installed folder is closed.
    if (process.getuid?.() !== 0) return;
    const home = join(folder, 'home');
    mkdirSync(home);
    chownSync(home, 65_534, 65_534);
    chmodSync(folder, 0o755);
    rmSync(join(prefix, 'lib/node_modules', packageName, '.cache'), { recursive: true, force: true });
    const asNobody = { uid: 65_534, gid: 65_534, cwd: home, env: { ...env, HOME: home } };
    assert.equal(execFileSync(globally, ['version'], { ...asNobody, encoding: 'utf8' }).trim(), version);
    assert.ok(
      existsSync(join(home, '.cache/turnpike/compile')),
      'compiled code is kept in the cache of the user',
    );
  });
});

describe('the container file', () => {
  const steps = readFileSync(join(root, 'Containerfile'), 'utf8')
    .replaceAll('\\\n', ' ')
    .split('\n')
    .filter((line) => /^[A-Z]+ /.test(line))
    .map((line) => ({ word: line.split(' ')[0] ?? '', rest: line.slice(line.indexOf(' ') + 1) }));
  const only = (word: string): string => {
    const found = steps.filter((step) => step.word === word);
    assert.equal(found.length, 1, word);
    return found[0]?.rest ?? '';
  };

  test('publishes every port, runs as a user of its own, keeps its data in a volume', () => {
    const ports = Object.entries(variables)
      .filter(([variable]) => variable === 'PORT' || variable.endsWith('_PORT'))
      .flatMap(([variable, { fallback: port }]) =>
        variable === 'LOCAL_SOLANA_PORT' ? [Number(port), Number(port) + 1] : [Number(port)],
      );
    const byNumber = (a: number, b: number): number => a - b;
    assert.deepEqual(only('EXPOSE').split(' ').map(Number).sort(byNumber), ports.sort(byNumber));
    assert.ok(steps.filter(({ word }) => word === 'FROM').every(({ rest }) => /\/debian:/.test(rest)));
    assert.notEqual(only('USER'), 'root');
    assert.equal(only('VOLUME'), '/data');
    assert.match(only('HEALTHCHECK'), /CMD \["turnpike", "status"\]$/);
  });

  // There is no container runtime in a test: its commands are run in a folder, as the user of the test.
  test('its install step, environment, start and health check work', async () => {
    const opt = join(folder, 'opt turnpike');
    const install =
      steps.find(({ word, rest }) => word === 'RUN' && rest.startsWith('npm install'))?.rest ?? '';
    const [npm = '', ...args] = install
      .split(' ')
      .map((part) => part.replace('/opt/turnpike', opt).replace('/tmp/turnpike.tgz', tarball));
    execFileSync(npm, args, { stdio: 'ignore' });
    const set = steps
      .filter(({ word }) => word === 'ENV')
      .flatMap(({ rest }) => rest.split(' '))
      .map((pair): [string, string] => {
        const [name = '', ...value] = pair.split('=');
        return [name, value.join('=')];
      });
    const data = join(folder, 'data');
    const env = {
      ...environment(),
      ...freePorts(),
      ...Object.fromEntries(set),
      PATH: (set.find(([variable]) => variable === 'PATH')?.[1] ?? '').replaceAll('/opt/turnpike', opt),
      DATA_DIR: data,
    };
    const [entry = ''] = JSON.parse(only('ENTRYPOINT'));
    const run = startProgram(undefined, [], { env, command: entry });
    try {
      const urls = await run.urls;
      assert.equal((await fetch(`${urls.arweave}/info`)).status, 200);
      const [check = '', ...words] = JSON.parse(only('HEALTHCHECK').replace(/^.*CMD /, ''));
      await eventually('it is well', () => spawnSync(check, words, { env, cwd: folder }).status === 0);
      assert.equal(await run.end('SIGTERM'), 0);
      assert.notEqual(spawnSync(check, words, { env, cwd: folder }).status, 0);
    } finally {
      await run.end('SIGKILL');
    }
  });
});

interface Run {
  readonly env: NodeJS.ProcessEnv;
  readonly urls: Promise<Record<string, string>>;
  end(signal: NodeJS.Signals): Promise<number | null>;
}

/** `turnpike start --json` of the installed package, or of what `PATH` has under a name. */
function startProgram(
  node: string | undefined,
  only: readonly string[] = [],
  given: { readonly env?: NodeJS.ProcessEnv; readonly command?: string } = {},
): Run {
  const env = given.env ?? {
    ...environment(),
    ...freePorts(),
    BUNDLE_MAX_WAIT_MS: '0',
    DATA_DIR: mkdtempSync(join(folder, 'data of a run-')),
  };
  const args = ['start', '--json', ...only];
  const options: SpawnOptions = {
    cwd: project,
    env: { ...env, LOG_LEVEL: 'warn' },
    stdio: ['ignore', 'pipe', 'inherit'],
  };
  const child: ChildProcess =
    node === undefined ? spawn(given.command ?? '', args, options) : spawn(node, [program, ...args], options);
  const closed = once(child, 'close');
  const lines = createInterface({ input: child.stdout ?? process.stdin });
  const urls = Promise.race([once(lines, 'line'), closed]).then(([line]) => {
    assert.match(String(line), /^\[/, 'it starts');
    const rows: { name: string; url: string }[] = JSON.parse(String(line));
    return Object.fromEntries(rows.map((row) => [row.name, row.url]));
  });
  return {
    env,
    urls,
    async end(signal) {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal);
      await closed;
      return child.exitCode;
    },
  };
}

async function answers(url: string | undefined): Promise<boolean> {
  return fetch(url ?? '').then(
    () => true,
    () => false,
  );
}

/** Without the folders that npm puts first on the path of a script, where the newer Node is. */
function environment(): NodeJS.ProcessEnv {
  const path = (process.env.PATH ?? '').split(delimiter).filter((entry) => !entry.includes('node_modules'));
  return { ...process.env, PATH: path.join(delimiter), NODE_COMPILE_CACHE: undefined };
}

/** One that the package names and that cannot run the program itself. */
function findOlderNode(): string | undefined {
  const found = (environment().PATH ?? '').split(delimiter).map((entry) => join(entry, 'node'));
  return found.find((file) => {
    const { stdout } = spawnSync(file, ['--version'], { encoding: 'utf8' });
    const major = Number(/^v(\d+)\./.exec(stdout ?? '')?.[1]);
    return major >= 20 && major < 24;
  });
}

function leaves(value: unknown): unknown[] {
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(leaves) : [value];
}
