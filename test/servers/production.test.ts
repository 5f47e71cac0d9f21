/**
 * deploy/ as an operator installs it: a whole stack behind the real nginx and the real Caddy with the files that are there,
 * looked at by `turnpike doctor`, units as systemd reads them, and Prometheus with its rules.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { appendFileSync, cpSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect as connectHttp2 } from 'node:http2';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { connect, getCACertificates, setDefaultCACertificates } from 'node:tls';
import { createView, type View } from '../../src/cli/doctor/view.ts';
import { isTxId } from '../../src/formats/base64url.ts';
import { sandboxLabel } from '../../src/formats/sandbox-label.ts';
import { signItem, solanaSigner } from '../../src/wallets/data-items/signer.ts';
import { ed25519TestKey } from '../../src/wallets/testing/keys.ts';
import { buyName } from '../support/buy-name.ts';
import { type ContentStack, startContentStack } from '../support/content-stack.ts';
import { type DnsServer, startDnsServer } from '../support/dns-server.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { type Commands, startCommands } from '../support/run-command.ts';
import { caddyProgram, startCaddy } from '../support/servers/caddy.ts';
import type { FrontPlaces } from '../support/servers/front-ports.ts';
import { type Nginx, nginxProgram, startNginx } from '../support/servers/nginx.ts';
import { findProgram, skipWithout } from '../support/servers/programs.ts';
import { prometheusPrograms, promtool, startPrometheus } from '../support/servers/prometheus.ts';
import { type RunningStack, startStack } from '../support/stack.ts';
import { createTestAuthority } from '../support/test-authority.ts';

const root = resolve(import.meta.dirname, '../..');
const domain = 'example.test';
const hosts = ['gateway', '*.gateway', 'read', '*.read', 'pay', 'upload'].map((name) => `${name}.${domain}`);
const name = 'a-name';
const page = Buffer.from('<p>a page</p>');

let content: ContentStack;
let dns: DnsServer;
let view: View;
let folder: string;
let places: FrontPlaces;
let id: string;
let commands: Commands;

const environment = {
  ARNS_ROOT_HOST: `gateway.${domain}`,
  BASE_DOMAIN: `read.${domain}`,
  TRUSTED_PROXIES: '127.0.0.1',
  TRUSTED_PROXY_COUNT: '1',
  LOCAL_TLS: 'false',
};

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'turnpike-production-'));
  const authority = createTestAuthority();
  const { cert, key } = authority.issue(hosts);
  writeFileSync(join(folder, 'fullchain.pem'), cert);
  writeFileSync(join(folder, 'privkey.pem'), key);
  writeFileSync(join(folder, 'authority.pem'), authority.pem);
  // A process reads it when it starts.
  process.env.NODE_EXTRA_CA_CERTS = join(folder, 'authority.pem');
  commands = startCommands();
  setDefaultCACertificates([...getCACertificates('default'), authority.pem]);
  dns = await startDnsServer(Object.fromEntries(hosts.map((host) => [host, '127.0.0.1'])));
  view = createView({ dnsServer: dns.address });
  content = await startContentStack('production', environment);
  const { gateway = '', payment = '', upload = '', router = '' } = content.stack.urls;
  const at = (url: string) => new URL(url).host;
  places = {
    ...{ domain, port: await freePort(), certificates: folder },
    servicePorts: { 4000: at(gateway), 4001: at(payment), 4002: at(upload), 3000: at(router) },
  };
  id = await content.upload(page, 'text/html');
  await content.placed();
  await buyName(content.stack, name, id);
});
after(async () => {
  commands.stop();
  await view.close();
  dns.stop();
  await content.stack.stop();
  rmSync(folder, { recursive: true, force: true });
});

const url = (host: string, path = ''): string => `https://${host}.${domain}:${places.port}${path}`;

const doctor = (...more: string[]) =>
  commands.run(
    [
      ...[
        'doctor',
        'gateway',
        'router',
        'upload',
        'payment',
        '--dns',
        dns.address,
        '--id',
        id,
        '--name',
        name,
      ],
      ...[
        '--gateway',
        url('gateway'),
        '--router',
        url('read'),
        '--upload',
        url('upload'),
        '--payment',
        url('pay'),
      ],
      ...more,
    ],
    {
      ...environment,
      DATA_DIR: content.stack.dataDir,
      // Nothing is kept for the ledger of a test.
      MIN_FREE_DISK_BYTES: '1',
    },
  );

/** What holds behind every proxy. */
function holdsBehind(proxy: string): void {
  it(`${proxy}: content is read by id, by name, from its sandbox and through the router`, async () => {
    assert.ok(isTxId(id));
    for (const address of [
      url('gateway', `/raw/${id}`),
      url(`${sandboxLabel(id)}.gateway`, `/${id}`),
      url(`${name}.gateway`, '/'),
      url('read', `/${id}`),
    ]) {
      const { status, body } = await view.http.call(address);
      assert.deepEqual([status, String(body)], [200, String(page)], address);
    }
    const sent = await view.http.call(url('gateway', `/${id}`), {
      headers: { 'sec-fetch-dest': 'document' },
    });
    assert.equal(sent.headers.location, url(`${sandboxLabel(id)}.gateway`, `/${id}`));
  });

  it(`${proxy}: browsers speak HTTP/2, and events come as they happen`, async () => {
    const { protocol } = await view.certificate(`gateway.${domain}`, places.port);
    assert.equal(protocol, 'h2');
    const session = connectHttp2(url('gateway'), {
      lookup: (_host, options, done) =>
        options.all === true ? done(null, [{ address: '127.0.0.1', family: 4 }]) : done(null, '127.0.0.1', 4),
    });
    const stream = session.request({ ':path': '/gw/events' });
    const first = await new Promise<string>((told, failed) => {
      stream.on('data', (piece) => told(String(piece))).on('error', failed);
    });
    assert.match(first, /^retry: /);
    session.destroy();
  });

  it(`${proxy}: uploads larger than its usual limit come through, and an upgrade to WebSocket does`, async () => {
    const data = randomBytes(3 * 1024 * 1024);
    const item = await signItem({ data, tags: [] }, solanaSigner(ed25519TestKey(proxy)));
    const headers = { 'content-type': 'application/octet-stream' };
    const sent = await view.http.call(url('upload', '/v1/tx/solana'), { headers, body: Buffer.from(item) });
    assert.equal(sent.status, 200, String(sent.body));
    const { body } = await view.http.call(url('gateway', `/raw/${JSON.parse(String(sent.body)).id}`));
    assert.ok(body.equals(data));
    const answer = await upgrade();
    assert.match(answer, /^HTTP\/1\.1 101 /);
  });

  it(`${proxy}: metrics are not for everybody, and below the root hosts that path is content`, async () => {
    for (const address of [
      url('gateway', '/gw/__gateway_metrics'),
      url('gateway', '/ar-io/__gateway_metrics'),
      url('read', '/router/metrics'),
      url('pay', '/metrics'),
      url('upload', '/metrics'),
    ]) {
      const { status, headers } = await view.http.call(address);
      assert.deepEqual([status, headers['x-request-id']], [404, undefined], address);
    }
    const below = await view.http.call(url('some-name.gateway', '/gw/__gateway_metrics'));
    assert.notEqual(below.headers['x-request-id'], undefined, 'the gateway itself answers');
    assert.doesNotMatch(String(below.body), /^# HELP/m);
  });

  it(`${proxy}: the doctor finds nothing wrong`, async () => {
    const { code, out, error } = await doctor();
    assert.equal(code, 0, out + error);
    assert.match(out, /^ok +certificate +the certificate of \*\.gateway\.example\.test is good for/m);
    assert.match(out, /Nothing is wrong\./);
  });
}

function upgrade(): Promise<string> {
  return new Promise((told, failed) => {
    const host = `gateway.${domain}`;
    const socket = connect({
      ...{ host: '127.0.0.1', port: places.port, servername: host, ALPNProtocols: ['http/1.1'] },
    });
    socket.on('error', failed).on('data', (piece) => {
      told(String(piece));
      socket.destroy();
    });
    socket.write(
      `GET /graphql HTTP/1.1\r\nHost: ${host}:${places.port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
        `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${randomBytes(16).toString('base64')}\r\n` +
        'Sec-WebSocket-Protocol: graphql-transport-ws\r\n\r\n',
    );
  });
}

describe('behind nginx', { skip: skipWithout(nginxProgram) }, () => {
  let nginx: Nginx;
  before(async () => {
    nginx = await startNginx(places);
  });
  after(() => nginx.stop());

  it('nginx finds no fault in the files', async () => {
    assert.equal(await nginx.test(), '');
  });

  holdsBehind('nginx');

  it('nginx refuses TLS before 1.2, whatever nginx.conf of the machine allows', async () => {
    const old = connect({
      ...{ host: '127.0.0.1', port: places.port, servername: `gateway.${domain}` },
      ...{ minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' },
    });
    const [error] = await once(old, 'error');
    assert.match(String(error), /alert protocol version/);
  });

  for (const [fault, words, change] of [
    [
      'its usual limit of bodies',
      /WRONG +proxy +uploads of 64 MiB are refused .*\(413\)/,
      (text: string) => text.replace('client_max_body_size 0;', ''),
    ],
    [
      'its usual collecting of bodies',
      /WRONG +proxy +uploads are collected in front/,
      (text: string) => text.replace('proxy_request_buffering off;', ''),
    ],
    [
      'no word about the scheme',
      /WRONG +proxy +pages at https:.* are sent to http:.*X-Forwarded-Proto/,
      (text: string) => text.replace('proxy_set_header X-Forwarded-Proto $scheme;', ''),
    ],
    [
      'a Host of its own',
      /WRONG +proxy +the gateway does not take gateway\.example\.test|WRONG +proxy +pages at \S+ are sent to/,
      (text: string) => text.replaceAll('$http_host', 'turnpike_gateway'),
    ],
  ] as const) {
    it(`the doctor names ${fault}`, async () => {
      await nginx.reload(change);
      try {
        const { code, out } = await doctor();
        assert.equal(code, 1, out);
        assert.equal(out.match(/^WRONG/gm)?.length, 1, out);
        assert.match(out, words);
      } finally {
        await nginx.reload();
      }
    });
  }

  it('two processes of everything restarted one after the other: no reader notices', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'turnpike-pair-'));
    const { arweave = '' } = content.stack.urls;
    // As the first unit has them, and as second.conf sets them.
    const usual = { GATEWAY_PORT: 4000, PAYMENT_PORT: 4001, UPLOAD_PORT: 4002, PORT: 3000 };
    const second = Object.fromEntries(
      [...readFileSync(join(root, 'deploy/systemd/second.conf'), 'utf8').matchAll(/([A-Z_]+)=([0-9]+)/g)].map(
        ([, variable = '', port]) => [variable, Number(port)],
      ),
    );
    const free = new Map<number, number>();
    for (const port of [...Object.values(usual), ...Object.values(second)]) free.set(port, await freePort());
    const begin = (given: Readonly<Record<string, number>>): Promise<RunningStack> =>
      startStack({
        dataDir,
        only: ['gateway', 'payment', 'upload', 'router'],
        environment: {
          ...environment,
          ...{ ARWEAVE_NODE_URLS: arweave, GATEWAY_POLL_INTERVAL_MS: '50' },
          ...{ CARD_PAYMENTS_ENABLED: 'false', X402_ENABLED: 'false', NAMES_ENABLED: 'false' },
          ...Object.fromEntries(
            Object.entries(given).map(([variable, port]) => [variable, `${free.get(port)}`]),
          ),
        },
      });
    const settings = [usual, second];
    let pair = [await begin(usual), await begin(second)];
    await nginx.reload((text) =>
      text
        .replaceAll('# server 127', 'server 127')
        .replaceAll(/(?<=server 127\.0\.0\.1:)\d+/g, (port) => String(free.get(Number(port)))),
    );
    try {
      const answers = new Map<string, number>();
      const count = (address: string): number => answers.get(`${address} 200`) ?? 0;
      const addresses = [
        ...[url('gateway', `/raw/${id}`), url('read', `/${id}`)],
        ...[url('pay', '/v1/price/bytes/1000'), url('upload', '/v1/info')],
      ];
      let isOver = false;
      const readers = addresses.map(async (address) => {
        while (!isOver) {
          const { status } = await view.http.call(address);
          answers.set(`${address} ${status}`, (answers.get(`${address} ${status}`) ?? 0) + 1);
        }
      });
      const readOn = async (): Promise<void> => {
        const before = addresses.map(count);
        await eventually('each of them reads on', () =>
          addresses.every((address, at) => count(address) > (before[at] ?? 0) + 20),
        );
      };
      await readOn();
      for (const [at, stack] of pair.entries()) {
        assert.equal(await stack.end(), 0);
        pair = pair.with(at, await begin(settings[at] ?? {}));
      }
      await readOn();
      isOver = true;
      await Promise.all(readers);
      assert.deepEqual(
        [...answers.keys()].toSorted(),
        addresses.map((address) => `${address} 200`).toSorted(),
      );
    } finally {
      await Promise.all(pair.map((stack) => stack.end()));
      rmSync(dataDir, { recursive: true, force: true });
      await nginx.reload();
    }
  });
});

describe('behind Caddy', { skip: skipWithout(caddyProgram) }, () => {
  let caddy: Awaited<ReturnType<typeof startCaddy>>;
  before(async () => {
    caddy = await startCaddy(places);
  });
  after(() => caddy.stop());

  it('Caddy finds no fault in the file', async () => {
    await caddy.test();
  });
  holdsBehind('Caddy');
});

describe('systemd', { skip: skipWithout({ systemd: findProgram('systemd-analyze') }) }, () => {
  it('finds no fault in the units, which keep to themselves', () => {
    const units = join(folder, 'units');
    cpSync(join(root, 'deploy/systemd'), units, { recursive: true });
    const files = globSync('**/*.{service,timer,conf}', { cwd: units });
    assert.ok(files.length >= 5);
    for (const file of files) {
      const path = join(units, file);
      // The program is not installed here.
      writeFileSync(path, readFileSync(path, 'utf8').replaceAll('/usr/local/bin/turnpike', '/bin/true'));
    }
    // As the page installs them.
    cpSync(join(units, 'turnpike.service'), join(units, 'turnpike-second.service'));
    for (const [conf, unit] of [
      ['secrets.conf', 'turnpike.service'],
      ['secrets.conf', 'turnpike-.service'],
      ['second.conf', 'turnpike-second.service'],
    ] as const) {
      cpSync(join(units, conf), join(units, `${unit}.d`, conf));
    }
    const services = [
      'turnpike.service',
      'turnpike-second.service',
      'turnpike-backup.service',
      'turnpike-backup.timer',
      'turnpike-doctor.service',
      'turnpike-doctor.timer',
    ];
    const verified = spawnSync(
      'systemd-analyze',
      ['verify', '--man=no', ...services.map((name) => join(units, name))],
      {
        encoding: 'utf8',
      },
    );
    assert.equal(verified.stderr + verified.stdout, '');
    assert.equal(verified.status, 0);
    // The secrets reach every unit: a fault in their file is one of each.
    appendFileSync(join(units, 'turnpike-.service.d/secrets.conf'), 'Nonsense=1\n');
    for (const name of ['turnpike-second.service', 'turnpike-backup.service', 'turnpike-doctor.service']) {
      const { stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', join(units, name)], {
        encoding: 'utf8',
      });
      assert.match(stderr, /turnpike-\.service\.d\/secrets\.conf.*Nonsense/, name);
    }
  });
});

describe('Prometheus', { skip: skipWithout(prometheusPrograms) }, () => {
  it('finds no fault in what to scrape and in the rules, whose tests pass', async () => {
    await promtool('check', 'config', 'prometheus.yaml');
    await promtool('check', 'rules', 'alerts.yaml');
    await promtool('test', 'rules', 'alerts.test.yaml');
  });

  it('scrapes every surface, and answers every panel and every rule', async () => {
    const prometheus = await startPrometheus(places.servicePorts);
    const ask = async (path: string) => (await fetch(`${prometheus.url}${path}`)).json() as Promise<Answered>;
    const query = (expression: string) => ask(`/api/v1/query?${new URLSearchParams({ query: expression })}`);
    try {
      await eventually('four services are scraped', async () => {
        const { data } = await query('up == 1');
        return data.result?.length === 4;
      });
      const empty: string[] = [];
      for (const file of globSync(join(root, 'deploy/grafana/*.json'))) {
        const { panels } = JSON.parse(readFileSync(file, 'utf8')) as Dashboard;
        const surface = /turnpike-(\w+)\.json$/.exec(file)?.[1];
        for (const { expr } of panels.flatMap(({ targets }) => targets)) {
          const answered = await query(expr.replaceAll('$job', `turnpike-${surface}`));
          assert.equal(answered.status, 'success', `${expr}: ${JSON.stringify(answered)}`);
          if (!/rate|increase/.test(expr) && answered.data.result?.length === 0) empty.push(expr);
        }
      }
      // What only shows where there is something to count.
      assert.deepEqual(
        empty.filter((expr) => !/^(?:content_blocks|operator_queue_length)/.test(expr)),
        [],
      );
      const { data } = await ask('/api/v1/rules');
      const rules = data.groups?.flatMap((group) => group.rules) ?? [];
      assert.ok(rules.length > 35, `${rules.length} rules`);
      await eventually('all of them were looked at', async () => {
        const told = (await ask('/api/v1/rules')).data.groups?.flatMap((group) => group.rules) ?? [];
        return told.every(({ health }) => health === 'ok');
      });
    } finally {
      await prometheus.stop();
    }
  });
});

interface Answered {
  readonly status: string;
  readonly data: {
    readonly result?: readonly unknown[];
    readonly groups?: readonly {
      readonly rules: readonly { readonly name: string; readonly health: string }[];
    }[];
  };
}

interface Dashboard {
  readonly panels: readonly { readonly targets: readonly { readonly expr: string }[] }[];
}
