/**
 * docs/production.md as a new operator follows it: each block is run as it stands there, one after the other in one shell,
 * with the machine's folders below one of the test's own. What changes a machine for everybody (packages, users, units,
 * clusters) has a stand-in that writes down what it was told, and for units does what systemd would: it runs what they say.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { freePort } from '../support/free-port.ts';
import { program } from '../support/program.ts';
import { caddyProgram } from '../support/servers/caddy.ts';
import { nginxProgram } from '../support/servers/nginx.ts';
import { prometheusPrograms } from '../support/servers/prometheus.ts';
import { type RunningStack, startStack } from '../support/stack.ts';
import { createTestAuthority } from '../support/test-authority.ts';

const root = resolve(import.meta.dirname, '../..');
const guide = readFileSync(join(root, 'docs/production.md'), 'utf8');
const domain = 'example.test';

let machine: string;
let node: RunningStack;
let shell: Shell;
/** Of the services, by the port that the page and the files name. */
const ports = new Map<number, number>();
const at = (path: string): string => join(machine, path);
const read = (path: string): string => readFileSync(at(path), 'utf8');
const told = (): string[] => (existsSync(at('told')) ? read('told').split('\n').filter(Boolean) : []);

/** The settings that the page has made are for the public network; an operator of a local one changes these. */
function localSettings(): string {
  // Without hosts of its own: production.test.ts has the outside.
  const replaced =
    /^(?:WORLD|ARWEAVE_NODE_URLS|TRUSTED_GATEWAYS_URLS|MIN_FREE_DISK_BYTES|LOG_LEVEL|ARNS_ROOT_HOST|BASE_DOMAIN|[A-Z]+_URL)=/;
  const kept = read('etc/turnpike/turnpike.env').split('\n');
  return [
    ...kept.filter((line) => !replaced.test(line)),
    ...['WORLD=local', 'LOCAL_TLS=false', 'LOG_LEVEL=warn', 'MIN_FREE_DISK_BYTES=1'],
    ...[`ARWEAVE_NODE_URLS=${node.urls.arweave}`, ''],
  ].join('\n');
}

/** What the stand-ins are: functions of the shell that runs the blocks. */
const standIns = () => `
turnpike() { "${process.execPath}" "${program}" "$@"; }
tell() { echo "$*" >> "${machine}/told"; }
apt-get() { tell apt-get "$@"; }
# An install puts the package anew into its place: a shell that stands in the old one stands nowhere.
npm() {
  tell npm "$@"
  local package="${machine}/lib/node_modules/@turnpike-network/turnpike"
  case "$1" in
    install)
      rm -rf "$package"
      mkdir -p "$package"
      cp -r "${root}/deploy" "${root}/docs" "${root}/Containerfile" "$package/" ;;
    root) echo "${machine}/lib/node_modules" ;;
  esac
}
useradd() { tell useradd "$@"; }
chown() { tell chown "$@"; }
ln() { case "$*" in */usr/local/bin/*) tell ln "$@" ;; *) command ln "$@" ;; esac; }
install() {
  local given=() skip=0 word
  for word in "$@"; do
    if [ $skip = 1 ]; then skip=0; elif [ "$word" = -o ] || [ "$word" = -g ]; then skip=1; else given+=("$word"); fi
  done
  command install "\${given[@]}"
  case "$*" in
    *shell.env*) here "${machine}/etc/turnpike/shell.env" ;;
    *second.conf*) sed -i '${[...ports].map(([usual, port]) => `s/=${usual}\\>/=${port}/`).join('; ')}' "$word" ;;
  esac
}
kubectl() {
  tell kubectl "$@"
  local word
  for word in "$@"; do case "\${word#*=}" in /*) [ -e "\${word#*=}" ] || return 1 ;; esac; done
}
docker() { tell docker "$@"; [ -e Containerfile ] && [ -e compose.yaml ]; }
certbot() {
  tell certbot "$@"
  mkdir -p "${machine}/etc/letsencrypt/live/${domain}"
  cp "${machine}"/fullchain.pem "${machine}"/privkey.pem "${machine}/etc/letsencrypt/live/${domain}/"
}
# Files name places of the machine, too.
here() { sed -i 's#\\([ =]\\)/\\(etc\\|var\\)/#\\1${machine}/\\2/#g' "$@"; }
nginx() { here "${machine}"/etc/nginx/conf.d/turnpike.conf; tell nginx "$@"; ${nginxProgram.nginx === undefined ? ':' : `"${nginxProgram.nginx}" -q -p "${machine}" -c "${machine}/nginx.conf" "$@"`}; }
caddy() { here "${machine}/etc/caddy/Caddyfile"; tell caddy "$@"; ${caddyProgram.caddy === undefined ? ':' : `"${caddyProgram.caddy}" "$@"`}; }
promtool() { tell promtool "$@"; ${prometheusPrograms.promtool === undefined ? ':' : `"${prometheusPrograms.promtool}" "$@"`}; }
journalctl() {
  tell journalctl "$@"
  [ "$1" != --unit ] || cat "${machine}/log/$2" 2>/dev/null || true
}
# Runs what a unit says, with its settings, as systemd does: a secret that is named and is not there stops it, and what the
# file of settings says wins over the unit. %d is where the secrets are.
unit() {
  local units="${machine}/etc/systemd/system" files path setting
  files=("$units/$1")
  for path in "$units/$1.d"/*.conf "$units"/turnpike-.service.d/*.conf; do
    case "$1 $path" in "turnpike.service "*/turnpike-.service.d/*) ;; *) [ ! -e "$path" ] || files+=("$path") ;; esac
  done
  for path in $(sed -n 's/^LoadCredential=[^:]*://p' "\${files[@]}"); do
    [ -e "${machine}$path" ] || { echo "243/CREDENTIALS $path"; return 243; }
  done
  set -a
  for setting in $(sed -n 's/^Environment=//p' "\${files[@]}" | sed "s#%d#${machine}/etc/turnpike/secrets#; s#=/var/#=${machine}/var/#"); do
    eval "$setting"
  done
  . "${machine}/etc/turnpike/turnpike.env"
  set +a
  eval "$(sed -n 's/^ExecStart=//p' "$units/$1" | sed "s#/usr/local/bin/turnpike#turnpike#; s#%d#${machine}/etc/turnpike/secrets#; s# /var/# ${machine}/var/#")"
}
start_unit() {
  local name="\${1%.service}"
  mkdir -p "${machine}/log"
  case "$1" in
    *.timer) [ -e "${machine}/etc/systemd/system/$1" ] && [ -d "${machine}/var/backups/turnpike" ] ;;
    turnpike.service | turnpike-second.service)
      # The process itself takes the place of the shell that starts it. A start is over before the service is up.
      (turnpike() { exec "${process.execPath}" "${program}" "$@"; }; unit "$1") >> "${machine}/log/$name" 2>&1 &
      echo $! > "${machine}/log/$name.pid" ;;
    *) (unit "$1") > "${machine}/log/$name" 2>&1 || { cat "${machine}/log/$name"; return 1; } ;;
  esac
}
stop_unit() {
  local pid
  pid=$(cat "${machine}/log/\${1%.service}.pid" 2>/dev/null) || return 0
  kill -TERM "$pid" 2>/dev/null || return 0
  while kill -0 "$pid" 2>/dev/null; do sleep 0.1; done
}
systemctl() {
  tell systemctl "$@"
  local word
  case "$1" in
    enable) shift 2; for word in "$@"; do start_unit "$word"; done ;;
    start) start_unit "$2" ;;
    restart) stop_unit "$2"; start_unit "$2" ;;
  esac
}
`;

interface BlockResult {
  /** Undefined where the block ended the shell. */
  readonly code: number | undefined;
  readonly out: string;
  readonly error: string;
}

/** One shell for all blocks: where one leaves it is where the next begins. It ends at the first command that fails. */
class Shell {
  readonly #process: ChildProcess;
  readonly #ended: Promise<undefined>;

  constructor(environment: NodeJS.ProcessEnv) {
    this.#process = spawn('bash', ['-euo', 'pipefail'], {
      ...{ cwd: machine, env: environment, stdio: ['pipe', 'pipe', 'inherit'] },
    });
    this.#ended = once(this.#process, 'close').then(() => undefined);
    this.#process.stdin?.write(standIns());
  }

  async run(block: string): Promise<BlockResult> {
    const [out, error] = [at('block.out'), at('block.error')];
    const lines = createInterface({ input: this.#process.stdout ?? process.stdin });
    const answered = once(lines, 'line').then(([line]) => Number(line));
    this.#process.stdin?.write(`{\n${block}\n} > "${out}" 2> "${error}" < /dev/null\necho $?\n`);
    const code = await Promise.race([answered, this.#ended]);
    lines.close();
    return { code, out: readFileSync(out, 'utf8'), error: readFileSync(error, 'utf8') };
  }

  async end(): Promise<void> {
    this.#process.stdin?.end();
    await this.#ended;
  }
}

before(async () => {
  machine = mkdtempSync(join(tmpdir(), 'turnpike-machine-'));
  for (const folder of [
    'etc/nginx/conf.d',
    'etc/caddy',
    'etc/prometheus',
    'etc/systemd/system',
    'var/lib',
    'root',
  ]) {
    mkdirSync(at(folder), { recursive: true });
  }
  const hosts = ['gateway', '*.gateway', 'read', '*.read', 'pay', 'upload'].map(
    (name) => `${name}.${domain}`,
  );
  const { cert, key } = createTestAuthority().issue(hosts);
  writeFileSync(at('fullchain.pem'), cert);
  writeFileSync(at('privkey.pem'), key);
  writeFileSync(
    at('nginx.conf'),
    `pid ${machine}/nginx.pid; error_log stderr;\nevents {}\nhttp { access_log off; include ${machine}/etc/nginx/conf.d/*.conf; }\n`,
  );
  for (const port of [3000, 3001, 4000, 4001, 4002, 4003, 3010, 3011, 4010, 4011, 4012, 4013]) {
    ports.set(port, await freePort());
  }
  const usual = {
    PORT: 3000,
    ADMIN_PORT: 3001,
    GATEWAY_PORT: 4000,
    PAYMENT_PORT: 4001,
    UPLOAD_PORT: 4002,
    CONSOLE_PORT: 4003,
  };
  node = await startStack({ only: ['gateway'] });
  await fetch(`${node.urls.arweave}/mine`);
  shell = new Shell({
    ...process.env,
    HOME: at('root'),
    ...Object.fromEntries(Object.entries(usual).map(([name, port]) => [name, String(ports.get(port))])),
  });
});
after(async () => {
  await shell.end();
  const last = new Shell(process.env);
  await last.run('stop_unit turnpike.service; stop_unit turnpike-second.service');
  await last.end();
  await node.stop();
  rmSync(machine, { recursive: true, force: true });
});

function run(block: string): Promise<BlockResult> {
  const script = block
    .replace(
      'export DOMAIN=example.org NODE=https://arweave.net',
      `export DOMAIN=${domain} NODE=${node.urls.arweave}`,
    )
    .replaceAll(/(?<=^|[\s"'=:])\/(?=(?:etc|var)\/)/gm, `${machine}/`)
    .replaceAll(/(?<=127\.0\.0\.1:)\d+/g, (port) => String(ports.get(Number(port)) ?? port));
  return shell.run(script);
}

/** What each block must have done. A block is known by its first line. */
const effects: [RegExp, (result: BlockResult) => void | Promise<void>][] = [
  [/^export DOMAIN=/, () => {}],
  [
    /^apt-get install/,
    ({ out }) => {
      assert.match(out, /^[0-9]+\.[0-9]+\.[0-9]+\n$/);
      assert.equal(statSync(at('etc/turnpike/secrets')).mode & 0o777, 0o700);
      assert.ok(told().some((line) => line.startsWith('npm install --global @turnpike-network/turnpike')));
    },
  ],
  [
    /^install -m 0640 deploy\/turnpike\.env/,
    () => {
      assert.match(read('etc/turnpike/turnpike.env'), /gateway\.example\.test$/m);
      assert.doesNotMatch(read('etc/turnpike/turnpike.env'), /example\.org/);
    },
  ],
  [
    /^HEIGHT=/,
    async () => {
      assert.match(read('etc/turnpike/turnpike.env'), /^START_HEIGHT=[0-9]+$/m);
      assert.doesNotMatch(read('etc/turnpike/turnpike.env'), /START_HEIGHT=1900000/);
      const made = read('etc/turnpike/turnpike.env');
      const { error } = await run(`(\nNODE=http://127.0.0.1:1\n${blockOf(/^HEIGHT=/)}\n)`);
      assert.match(
        error,
        /^http:\/\/127\.0\.0\.1:1 does not tell its height: START_HEIGHT=\d+ stays\. .*\n$/,
      );
      assert.equal(read('etc/turnpike/turnpike.env'), made);
      // From here on the operator's own settings hold.
      writeFileSync(at('etc/turnpike/turnpike.env'), localSettings());
    },
  ],
  [
    /^\(\n {2}cd \/etc\/turnpike\/secrets/,
    async ({ out }) => {
      const [address] = /^[A-Za-z0-9_-]{43}$/m.exec(out) ?? assert.fail(out);
      // The AR that the page asks for.
      await fetch(`${node.urls.arweave}/mint/${address}/${1000n * 10n ** 12n}`);
      for (const name of ['admin-api-key', 'backup-passphrase', 'wallet.json']) {
        assert.equal(statSync(at(`etc/turnpike/secrets/${name}`)).mode & 0o777, 0o600, name);
      }
    },
  ],
  [
    /^certbot/,
    () => {
      const line = told().find((one) => one.startsWith('certbot')) ?? '';
      for (const host of ['gateway', '*.gateway', 'read', '*.read', 'pay', 'upload']) {
        assert.ok(line.includes(`-d ${host}.${domain}`), host);
      }
    },
  ],
  [
    /turnpike\.conf > /,
    () => {
      assert.doesNotMatch(read('etc/nginx/conf.d/turnpike.conf'), /example\\?\.org/);
      assert.ok(told().includes('nginx -t'));
    },
  ],
  [/Caddyfile > /, () => assert.doesNotMatch(read('etc/caddy/Caddyfile'), /example\.org/)],
  [
    /^install -d -m 0700 -o turnpike/,
    () => {
      const folder = at('etc/systemd/system/turnpike-.service.d');
      assert.ok(existsSync(join(folder, 'secrets.conf')));
      assert.ok(
        !lstatSync(folder).isSymbolicLink(),
        'systemd reads no drop-ins from a folder that is a link',
      );
    },
  ],
  [
    /turnpike status/,
    ({ out }) => {
      assert.match(out, /^Turnpike \S+ runs in the world local/m);
      assert.match(out, /"db": \{/);
    },
  ],
  [/^systemctl start turnpike-doctor/, ({ out }) => assert.match(out, /Nothing is wrong\./)],
  [/^turnpike wallet create/, ({ out }) => assert.match(out, /\/[A-Za-z0-9_-]{43}$/m)],
  [/^journalctl --unit turnpike /, () => {}],
  [/promtool/, () => assert.ok(told().includes('systemctl reload prometheus'))],
  [/turnpike backup /, ({ out }) => assert.match(out, /keys sealed/)],
  [/turnpike restore /, ({ out }) => assert.match(out, /restored backup/)],
  [
    /npm install --global @turnpike-network\/turnpike\ncd /,
    () => assert.ok(told().includes('systemctl restart turnpike.service')),
  ],
  [
    /second\.conf/,
    async () => {
      const used = read('etc/nginx/conf.d/turnpike.conf').match(/^ +server 127\.0\.0\.1:\d+ max_fails=0;$/gm);
      assert.equal(used?.length, 8);
      const scraped = read('etc/prometheus/prometheus.yml').match(/(?<=targets: ).*/g);
      assert.deepEqual(
        scraped,
        [4000, 4001, 4002, 3000].map((port) => `["127.0.0.1:${port}", "127.0.0.1:${port + 10}"]`),
      );
      assert.equal(await runningProcesses(), 2);
    },
  ],
  [
    /^systemctl restart turnpike\.service\ncurl/,
    async () => {
      assert.ok(told().includes('systemctl restart turnpike-second.service'));
      assert.equal(await runningProcesses(), 2);
    },
  ],
  [
    /turnpike name key/,
    () => {
      const made = new Set(readdirSync(at('root/turnpike/secrets')));
      // Whoever has pods has an object store of their own.
      made.add('blob-store-url');
      const named = ['container/compose.yaml', 'kubernetes/settings.yaml'].flatMap((file) =>
        readFileSync(join(root, 'deploy', file), 'utf8')
          .split('\n')
          .filter((line) => !/^ *#/.test(line))
          .flatMap((line) => /(?: |\/)secrets\/([\w.-]+)/.exec(line)?.[1] ?? [])
          .filter((name) => !/^\/run/.test(name)),
      );
      assert.ok(named.length > 15, named.join(' '));
      assert.deepEqual(
        named.filter((name) => !made.has(name) && !made.has(`${name}.json`) && !made.has(`${name}.pem`)),
        [],
      );
    },
  ],
  [
    /docker compose/,
    () => {
      assert.ok(told().includes('docker compose up --detach'));
      assert.doesNotMatch(read('root/turnpike/compose.yaml'), /example\.org/);
      assert.equal(read('root/turnpike/turnpike.env'), read('etc/turnpike/turnpike.env'));
      assert.deepEqual(readdirSync(at('root/turnpike/certificates')), ['fullchain.pem', 'privkey.pem']);
    },
  ],
  [
    /^IMAGE=/,
    () => {
      for (const file of readdirSync(at('root/turnpike/kubernetes'))) {
        assert.doesNotMatch(read(`root/turnpike/kubernetes/${file}`), /example\.org/, file);
      }
      assert.ok(told().includes(`kubectl apply --kustomize ${at('root/turnpike/kubernetes')}`));
      assert.ok(told().some((line) => line.startsWith('kubectl create secret tls turnpike-tls ')));
      for (const [line, name, value] of read('etc/turnpike/turnpike.env').matchAll(
        /^(ARWEAVE_NODE_URLS|START_HEIGHT)=(.*)$/gm,
      )) {
        assert.ok(read('root/turnpike/kubernetes/settings.yaml').includes(`\n  ${name}: "${value}"\n`), line);
      }
    },
  ],
];

const blocks = [...guide.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = '']) => block);
const blockOf = (form: RegExp): string => blocks.find((block) => form.test(block)) ?? '';

test('every block of docs/production.md does what the page says', async (t) => {
  assert.ok(blocks.length >= 15, `${blocks.length} blocks`);
  const used = new Set<RegExp>();
  let isRight = true;
  for (const block of blocks) {
    // What comes after a failed block stands on it.
    if (!isRight) break;
    isRight = false;
    const [title = ''] = block.split('\n');
    await t.test(title, async () => {
      const matching = effects.filter(([form]) => form.test(block));
      assert.equal(matching.length, 1, `the test knows what the block should do:\n${block}`);
      if (/turnpike restore /.test(block)) await emptyMachine();
      const result = await run(block);
      assert.equal(result.code, 0, `${result.out}\n${result.error}`);
      for (const [form, check] of matching) {
        used.add(form);
        await check(result);
      }
      isRight = true;
    });
  }
  assert.equal(used.size, effects.length, 'the page has every block that the test knows');
});

/** As on the new machine that a restore is for. */
async function emptyMachine(): Promise<void> {
  await run('stop_unit turnpike.service');
  rmSync(at('var/lib/turnpike'), { recursive: true, force: true });
}

async function runningProcesses(): Promise<number> {
  const { out } = await run('turnpike status --json || true');
  const { processes, ok } = JSON.parse(out);
  assert.equal(ok, true, out);
  return processes.length;
}
