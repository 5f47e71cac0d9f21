/**
 * docs/production.md as a new operator follows it: each block is run as it stands there, one after the other, with the
 * machine's folders below one of the test's own. What changes a machine for everybody (packages, users, units, clusters)
 * has a stand-in that writes down what it was told, and for units does what systemd would: it runs what they say.
 */
import assert from 'node:assert/strict';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { type CommandResult, runCommand } from '../support/run-command.ts';
import { caddyProgram } from '../support/servers/caddy.ts';
import { nginxProgram } from '../support/servers/nginx.ts';
import { prometheusPrograms } from '../support/servers/prometheus.ts';
import { freePorts, type RunningStack, startStack } from '../support/stack.ts';
import { createTestAuthority } from '../support/test-authority.ts';

const root = resolve(import.meta.dirname, '../..');
const guide = readFileSync(join(root, 'docs/production.md'), 'utf8');
const domain = 'example.test';

let machine: string;
let node: RunningStack;
const at = (path: string): string => join(machine, path);
const read = (path: string): string => readFileSync(at(path), 'utf8');
const told = (): string[] => (existsSync(at('told')) ? read('told').split('\n').filter(Boolean) : []);

/** The settings of the guide are for the public network; an operator of the local one sets these. */
const localSettings = () =>
  [
    // Without hosts of its own: production.test.ts has the outside.
    ...['WORLD=local', 'LOCAL_TLS=false', 'LOG_LEVEL=warn', 'MIN_FREE_DISK_BYTES=1'],
    ...['TRUSTED_PROXIES=127.0.0.1', 'TRUSTED_PROXY_COUNT=1'],
    ...Object.entries(freePorts()).map(([name, value]) => `${name}=${value}`),
    '',
  ].join('\n');

/** What the stand-ins are: functions of the shell that runs the blocks. */
const standIns = () => `
turnpike() { "${process.execPath}" "${root}/bin/turnpike.js" "$@"; }
tell() { echo "$*" >> "${machine}/told"; }
apt-get() { tell apt-get "$@"; }
npm() { tell npm "$@"; }
useradd() { tell useradd "$@"; }
chown() { tell chown "$@"; }
install() {
  local given=() skip=0
  for word in "$@"; do
    if [ $skip = 1 ]; then skip=0; elif [ "$word" = -o ] || [ "$word" = -g ]; then skip=1; else given+=("$word"); fi
  done
  command install "\${given[@]}"
}
kubectl() { tell kubectl "$@"; for word in "$@"; do case "$word" in deploy/*) [ -e "$word" ];; esac; done; }
certbot() {
  tell certbot "$@"
  mkdir -p "${machine}/etc/letsencrypt/live/${domain}"
  cp "${machine}"/fullchain.pem "${machine}"/privkey.pem "${machine}/etc/letsencrypt/live/${domain}/"
}
# Files name places of the machine, too.
here() { sed -i 's# /etc/# ${machine}/etc/#g' "$@"; }
nginx() { here "${machine}"/etc/nginx/conf.d/turnpike.conf; tell nginx "$@"; ${nginxProgram.nginx === undefined ? ':' : `"${nginxProgram.nginx}" -q -p "${machine}" -c "${machine}/nginx.conf" "$@"`}; }
caddy() { here "${machine}/etc/caddy/Caddyfile"; tell caddy "$@"; ${caddyProgram.caddy === undefined ? ':' : `HOME="${machine}" "${caddyProgram.caddy}" "$@"`}; }
promtool() { tell promtool "$@"; ${prometheusPrograms.promtool === undefined ? ':' : `"${prometheusPrograms.promtool}" "$@"`}; }
journalctl() {
  tell journalctl "$@"
  [ "$1" != --unit ] || cat "${machine}/log/$2" 2>/dev/null || true
}
# Runs what a unit says, with its settings, as systemd does; %d is where the secrets are.
unit() {
  local file="${machine}/etc/systemd/system/$1" line
  [ -e "$file" ] || file="${machine}/etc/systemd/system/\${1%@*}@.service"
  line=$(sed -n 's/^ExecStart=//p' "$file" | sed "s#/usr/local/bin/turnpike#turnpike#; s#%d#${machine}/etc/turnpike/secrets#; s# /var/# ${machine}/var/#")
  set -a
  . "${machine}/etc/turnpike/turnpike.env"
  DATA_DIR="${machine}/var/lib/turnpike"
  ADMIN_API_KEY_FILE="${machine}/etc/turnpike/secrets/admin-api-key"
  set +a
  eval "$line"
}
start_unit() {
  local log="${machine}/log/\${1%.service}"
  mkdir -p "${machine}/log"
  case "$1" in
    *.timer | turnpike-gateway@*) ;;
    turnpike.service)
      # The process itself takes the place of the shell that starts it; it prints its addresses once it runs.
      : > "$log.addresses"
      (turnpike() { exec "${process.execPath}" "${root}/bin/turnpike.js" "$@"; }; unit "$1") > "$log.addresses" 2>> "$log" &
      echo $! > "${machine}/pid"
      for _ in $(seq 900); do [ ! -s "$log.addresses" ] || break; sleep 0.1; done
      for _ in $(seq 20); do DATA_DIR="${machine}/var/lib/turnpike" turnpike status > /dev/null && return; done
      cat "$log"; return 1 ;;
    *) (unit "$1") > "$log" 2>&1 || { cat "$log"; return 1; } ;;
  esac
}
systemctl() {
  tell systemctl "$@"
  local word
  case "$1" in
    enable) shift 2; for word in "$@"; do start_unit "$word"; done ;;
    start) start_unit "$2" ;;
    restart) case "$2" in turnpike.service) stop_unit; start_unit "$2" ;; esac ;;
  esac
}
stop_unit() {
  local pid
  pid=$(cat "${machine}/pid" 2>/dev/null) || return 0
  kill -TERM "$pid" 2>/dev/null || return 0
  while kill -0 "$pid" 2>/dev/null; do sleep 0.1; done
}
`;

before(async () => {
  machine = mkdtempSync(join(tmpdir(), 'turnpike-machine-'));
  symlinkSync(join(root, 'deploy'), at('deploy'));
  for (const folder of [
    'etc/nginx/conf.d',
    'etc/caddy',
    'etc/systemd/system',
    'var/lib',
    'var/backups',
    'secrets',
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
  node = await startStack({ only: ['gateway'] });
});
after(async () => {
  await run('stop_unit');
  await node.stop();
  rmSync(machine, { recursive: true, force: true });
});

function run(block: string): Promise<CommandResult> {
  const script = block
    .replaceAll(/(?<=^|[\s"'=:])\/(?=(?:etc|var)\/)/gm, `${machine}/`)
    .replaceAll('http://127.0.0.1:4000', node.urls.gateway ?? '');
  return runCommand('bash', ['-euo', 'pipefail', '-c', `${standIns()}\n${script}`], {
    cwd: machine,
    env: { ...process.env, DOMAIN: domain, NODE: node.urls.arweave ?? '' },
  });
}

/** What each block must have done. A block is known by its first line. */
const effects: [RegExp, (result: CommandResult) => void | Promise<void>][] = [
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
    () => assert.match(read('etc/turnpike/turnpike.env'), /gateway\.example\.test$/m),
  ],
  [
    /^HEIGHT=/,
    () => {
      assert.match(read('etc/turnpike/turnpike.env'), /^START_HEIGHT=[0-9]+$/m);
      assert.doesNotMatch(read('etc/turnpike/turnpike.env'), /START_HEIGHT=1900000/);
      // From here on the operator's own settings hold.
      writeFileSync(at('etc/turnpike/turnpike.env'), localSettings());
    },
  ],
  [
    /^cd \/etc\/turnpike\/secrets/,
    ({ out }) => {
      assert.match(out, /^[A-Za-z0-9_-]{43}$/m);
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
    /^install -m 0644 deploy\/systemd/,
    () => assert.ok(existsSync(at('etc/systemd/system/turnpike-.service.d/secrets.conf'))),
  ],
  [
    /^export DATA_DIR=\S+ ADMIN_API_KEY_FILE=\S+\nturnpike status/,
    ({ out }) => {
      assert.match(out, /^Turnpike \S+ runs in the world local/);
      assert.match(out, /"db": \{/);
    },
  ],
  [/^systemctl start turnpike-doctor/, ({ out }) => assert.match(out, /Nothing is wrong\./)],
  [/^journalctl --unit turnpike /, () => {}],
  [/^promtool/, () => {}],
  [
    /^install -d -m 0700 -o turnpike/,
    ({ out }) => {
      assert.match(out, /./);
    },
  ],
  [/turnpike restore /, ({ out }) => assert.match(out, /restored backup/)],
  [/npm install --global @turnpike-network\/turnpike\nsystemctl restart turnpike\.service/, () => {}],
  [
    /^systemctl restart turnpike-gateway@/,
    () => assert.ok(told().includes('systemctl restart turnpike-gateway@4010.service')),
  ],
  [
    /^mkdir -p turnpike\/secrets/,
    () =>
      assert.match(
        read('turnpike/secrets/database-url'),
        /^postgres:\/\/turnpike:[0-9a-f]{48}@postgres\/turnpike\n$/,
      ),
  ],
  [/^kubectl/, () => assert.ok(told().includes('kubectl apply --kustomize deploy/kubernetes'))],
];

test('every block of docs/production.md does what the page says', async (t) => {
  const blocks = [...guide.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = '']) => block);
  assert.ok(blocks.length >= 15, `${blocks.length} blocks`);
  const used = new Set<RegExp>();
  for (const block of blocks) {
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
    });
  }
  assert.equal(used.size, effects.length, 'the page has every block that the test knows');
});

/** As on the new machine that a restore is for. */
async function emptyMachine(): Promise<void> {
  await run('stop_unit');
  rmSync(at('var/lib/turnpike'), { recursive: true, force: true });
}
