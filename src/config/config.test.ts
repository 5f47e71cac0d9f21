import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { childEnvironment } from './child-environment.ts';
import {
  ConfigError,
  createRedactor,
  describeConfig,
  misspeltVariables,
  readConfig,
  retiredVariables,
} from './config.ts';
import { postgresHosts } from './postgres-url.ts';
import { variables } from './variables.ts';

function problemsOf(environment: Record<string, string>): readonly string[] {
  try {
    readConfig(environment);
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    return error.problems;
  }
  return [];
}

describe('readConfig', () => {
  test('an empty environment gives the defaults, and an empty value counts as absent', () => {
    const config = readConfig({ GATEWAY_PORT: '' });
    assert.equal(config.GATEWAY_PORT, 4000);
    assert.equal(config.HOST, '127.0.0.1');
    assert.equal(config.DATABASE_URL, undefined);
  });

  test('gateways to tell are a list that makes sense, and their keys are shown and logged nowhere', () => {
    const url = 'https://gateway.example/';
    const key = 'a-key-that-nobody-may-see';
    const list = (...gateways: unknown[]) => JSON.stringify(gateways);
    for (const [value, words] of [
      ['nonsense', /must be JSON/],
      ['{}', /must be a JSON list/],
      [list({ key }), /a url that begins with/],
      [list({ url: 'ftp://gateway.example', key }), /a url that begins with/],
      [list({ url }), /either a key or a keyFile/],
      [list({ url, key: '' }), /either a key or a keyFile/],
      [list({ url, key, keyFile: 'file' }), /either a key or a keyFile/],
      [list({ url, key, kee: 1 }), /url, key or keyFile, host and data only/],
      [list({ url, key, host: 'no host' }), /host name/],
      [list({ url, key, data: 'yes' }), /true or false/],
      [list({ url, key }, { url: 'https://gateway.example', key }), /each gateway once/],
      [list(...Array.from({ length: 21 }, (_, at) => ({ url: `${url}${at}`, key }))), /at most 20/],
    ] as const) {
      const [problem = ''] = problemsOf({ ANNOUNCE_GATEWAYS: value });
      assert.match(problem, words, value);
      assert.ok(!problem.includes(key), problem);
    }
    const environment = {
      ANNOUNCE_GATEWAYS: list({ url, key }, { url: 'http://10.0.0.7', keyFile: '/k', data: false }),
    };
    assert.deepEqual(readConfig(environment).ANNOUNCE_GATEWAYS, [
      { url: 'https://gateway.example', key },
      { url: 'http://10.0.0.7', keyFile: '/k', data: false },
    ]);
    const told = describeConfig(environment).find(({ name }) => name === 'ANNOUNCE_GATEWAYS');
    assert.match(JSON.stringify(told), /gateway\.example/);
    assert.ok(!JSON.stringify(told).includes(key));
    assert.equal(createRedactor(environment)(`refused ${key}`), 'refused (hidden)');
  });

  test('a fee that would leave nothing of a payment is refused: prices are divided by what it leaves', () => {
    for (const value of ['0', '0.000', '-1', '1e3']) {
      assert.match(
        problemsOf({ PAYMENT_FEE_MULTIPLIER: value })[0] ?? '',
        /^PAYMENT_FEE_MULTIPLIER must be/,
        value,
      );
    }
    assert.deepEqual(problemsOf({ PAYMENT_FEE_MULTIPLIER: '0.01', USD_PRICE_PER_DATA_ITEM: '0' }), []);
  });

  test('a fee that would credit more than was paid is refused', () => {
    for (const name of ['PAYMENT_FEE_MULTIPLIER', 'KYVE_FEE_MULTIPLIER']) {
      for (const value of ['1.01', '76.6']) {
        assert.match(problemsOf({ [name]: value })[0] ?? '', /must be above 0 and not above 1/, value);
      }
      assert.deepEqual(problemsOf({ [name]: '1' }), []);
      assert.deepEqual(problemsOf({ [name]: '1.000' }), []);
    }
  });

  test('what only makes sense together is asked for together', () => {
    assert.match(
      problemsOf({ STRIPE_SECRET_KEY: 'sk_test_x' })[0] ?? '',
      /^STRIPE_WEBHOOK_SECRET must be set/,
    );
    const facilitator = { X402_FACILITATOR_URL: 'https://x402.example' };
    assert.match(problemsOf(facilitator)[0] ?? '', /^X402_PAYMENT_ADDRESS must be set/);
    assert.deepEqual(problemsOf({ ...facilitator, X402_ENABLED: 'false' }), []);
    assert.deepEqual(problemsOf({ ...facilitator, X402_PAYMENT_ADDRESS: `0x${'1'.repeat(40)}` }), []);
  });

  test('every wrong value is one line that names its variable', () => {
    const problems = problemsOf({ GATEWAY_PORT: '70000', LOG_LEVEL: 'loud', DATABASE_URL: 'mysql://x' });
    assert.deepEqual(problems.map((line) => line.split(' ')[0]).sort(), [
      'DATABASE_URL',
      'GATEWAY_PORT',
      'LOG_LEVEL',
    ]);
  });

  test('a percent sign that begins no escape is refused: names and passwords of URLs are read without escapes', () => {
    for (const name of ['INDEX_HISTORY_URL', 'ARWEAVE_NODE_URLS']) {
      assert.match(
        problemsOf({ [name]: 'http://user:50%@host:8123/database' })[0] ?? '',
        new RegExp(`^${name} must be a URL in which each % begins an escape`),
      );
      assert.deepEqual(problemsOf({ [name]: 'http://user:50%25@host:8123/database' }), []);
    }
    assert.match(
      problemsOf({ DATABASE_URL: 'postgres://user:50%@host/database' })[0] ?? '',
      /^DATABASE_URL must be a URL in which each % begins an escape/,
    );
  });

  test('numbers are decimal digits only', () => {
    for (const text of ['1e3', '0x10', '-1', '1.5', ' 1', '+1', '99999999999999999999']) {
      assert.equal(problemsOf({ SHUTDOWN_TIMEOUT_MS: text }).length, 1, text);
    }
  });

  test('what a timer waits for is no longer than timers can wait', () => {
    const waits = Object.keys(variables).filter((name) =>
      /(_MS|INTERVAL_SECONDS|TIMEOUT_SECONDS)$/.test(name),
    );
    const ages = /AGE|FORGET|TTL|EXPIRATION|GRACE|EXPECTED/;
    for (const name of waits.filter((one) => !ages.test(one))) {
      assert.equal(problemsOf({ [name]: '2147483648' }).length, 1, name);
    }
    assert.ok(waits.length > 20);
  });

  test('a wrong secret is not repeated in the message', () => {
    const [line] = problemsOf({ DATABASE_URL: 'mysql://user:hunter2@host/db' });
    assert.ok(line !== undefined && !line.includes('hunter2'));
  });

  test('the router and its admin page may not share a port, unless both are free ports', () => {
    assert.equal(problemsOf({ PORT: '3005', ADMIN_PORT: '3005' }).length, 1);
    assert.equal(problemsOf({ PORT: '0', ADMIN_PORT: '0' }).length, 0);
  });

  test('the forced exit may not come before the drain is over', () => {
    assert.equal(problemsOf({ SHUTDOWN_TIMEOUT_MS: '1000', SHUTDOWN_DRAIN_TIMEOUT_MS: '2000' }).length, 1);
  });
});

describe('the world', () => {
  test('is local unless set, and sets the defaults that belong together', () => {
    const of = (WORLD: string) => {
      const c = readConfig({ WORLD });
      return [
        c.WORLD,
        c.BUNDLE_CONFIRMATIONS,
        c.ARWEAVE_MIN_CONFIRMATIONS,
        c.X402_NETWORKS,
        c.ARNS_PROGRAM_CLUSTER,
      ];
    };
    assert.deepEqual(of(''), ['local', 1, 1, ['base-sepolia'], 'local']);
    assert.deepEqual(of('testnet'), ['testnet', 18, 18, ['base-sepolia'], 'devnet']);
    assert.deepEqual(of('public'), ['public', 18, 18, ['base'], 'mainnet']);
    assert.match(problemsOf({ WORLD: 'mainnet' })[0] ?? '', /^WORLD must be one of local, testnet, public/);
  });

  test('what is set wins over its defaults', () => {
    const config = readConfig({ WORLD: 'public', BUNDLE_CONFIRMATIONS: '5', X402_NETWORKS: 'polygon' });
    assert.equal(config.BUNDLE_CONFIRMATIONS, 5);
    assert.deepEqual(config.X402_NETWORKS, ['polygon']);
    const local = readConfig({ ARWEAVE_NODE_URLS: 'http://127.0.0.1:1984' });
    assert.equal(local.BUNDLE_CONFIRMATIONS, 1, 'a node elsewhere makes no other world');
  });

  test('is what the table of variables shows the defaults of', () => {
    const shown = (environment: Record<string, string>) =>
      describeConfig(environment).find(({ name }) => name === 'X402_NETWORKS')?.defaultText;
    assert.equal(shown({}), 'base-sepolia');
    assert.equal(shown({ WORLD: 'public' }), 'base');
  });
});

test('an address that is none is told in one line', () => {
  assert.deepEqual(problemsOf({ ARWEAVE_NODE_URLS: 'arweave.net' }), [
    'ARWEAVE_NODE_URLS must be a URL that begins with http:// or https://, not "arweave.net"',
  ]);
});

describe('describeConfig', () => {
  test('shows what is set, but hides secrets', () => {
    const rows = describeConfig({ HOST: '0.0.0.0', DATABASE_URL: 'postgres://u:secret@h/d' });
    assert.equal(rows.find((row) => row.name === 'HOST')?.current, '0.0.0.0');
    assert.equal(rows.find((row) => row.name === 'DATABASE_URL')?.current, '(hidden)');
  });

  test('hides keys wherever they stand in a URL', () => {
    const shown = (value: string) =>
      describeConfig({ SOLANA_RPC_URL: value }).find((row) => row.name === 'SOLANA_RPC_URL')?.current;
    assert.equal(shown('https://a-long-name-of-a-host.example'), 'https://a-long-name-of-a-host.example');
    assert.equal(shown('http://127.0.0.1:8899/'), 'http://127.0.0.1:8899/');
    assert.equal(shown('http://[::1]:8899/k1'), 'http://[::1]:8899/(hidden)');
    assert.equal(
      shown('https://rpc.example/v2/k1, https://u:p@two.example/?api-key=k1&net=main'),
      'https://rpc.example/(hidden),https://(hidden)@two.example/(hidden)',
    );
    const [problem = ''] = problemsOf({ SOLANA_RPC_URL: 'wss://rpc.example/?api-key=k1' });
    assert.ok(problem.includes('wss://rpc.example/(hidden)') && !problem.includes('k1'), problem);
  });

  test('no variable of the table shows a key of an address, however it was written', () => {
    const keys = ['uzer7', 'pazz7', 'k3y', 'd33p', 'q7', 'f9', 'p@zz', 'c0mma'];
    const addresses = [
      'https://uzer7:pazz7@host.example/v2/k3y/d33p?api-key=q7#f9',
      'https://uzer7@host.example',
      'https://host.example/k3y',
      'https://host.example:8443/k3y/',
      'https://host.example?q7',
      'https://host.example/a,c0mma',
      'https://uzer7:pa/zz@host.example/k3y',
      'https://uzer7:p@zz7@host.example/',
      'wss://host.example/k3y',
      'https:\\/\\/host.example\\/k3y',
      'uzer7:pazz7@host.example/k3y',
      'host.example/k3y',
    ];
    const shapes = (address: string, isAddress: boolean): string[] => [
      address,
      `${address},${address}`,
      `https://first.example, ${address}`,
      `{"base": "${address}"}`,
      `{"base": {"deeper": ["${address}", 1]}}`,
      `[{"publisher": "x", "url": "${address}", "names": true}]`,
      // Broken, so that it is told what is wrong with it.
      ...(isAddress ? [`{"base": "${address}"`, `"${address}`] : []),
    ];
    for (const isAddress of [true, false]) {
      const names = Object.entries(variables).filter(
        ([, { kind }]) => isAddress === (kind === 'json' || /\burls?\b/.test(kind)),
      );
      for (const address of addresses) {
        // What is no address is known for one only where one is asked for.
        const told = names.filter(([, { secret }]) => address.includes('://') || isAddress || secret);
        for (const value of shapes(address, isAddress)) {
          const environment = Object.fromEntries(told.map(([name]) => [name, value]));
          const rows = describeConfig(environment).map(({ name, current }) => `${name} ${current}`);
          const shown = [...rows, ...problemsOf(environment)].filter((line) =>
            keys.some((key) => line.includes(key)),
          );
          assert.deepEqual(shown, [], value);
        }
      }
    }
  });

  test('log and error lines hide the same keys', () => {
    const hide = createRedactor({
      ARWEAVE_NODE_URLS: 'https://node.example/k3y/,https://node.example/k3y-two',
      X402_RPC_URLS: '{"base": "https://base.example/v2/k3y"}',
      DATABASE_URL: 'postgres://uzer7:pazz7@db.example/d33p',
      STRIPE_SECRET_KEY: 'sk_live_0123456789',
      JWT_SECRET: 'short',
      GATEWAY_URL: 'https://gateway.example',
    });
    assert.equal(
      hide('https://node.example/k3y/info failed, then https://node.example/k3y-two/info did'),
      'https://node.example/(hidden)/info failed, then https://node.example/(hidden)/info did',
    );
    assert.equal(hide('asked https://base.example/v2/k3y'), 'asked https://base.example/(hidden)');
    assert.equal(hide('postgres://uzer7:pazz7@db.example/d33p sk_live_0123456789'), '(hidden) (hidden)');
    assert.equal(hide('https://gateway.example/raw/x in short'), 'https://gateway.example/raw/x in short');
  });

  test('every variable has a meaning', () => {
    for (const row of describeConfig()) assert.ok(row.meaning.length > 5, row.name);
  });
});

test('variables of earlier releases are named, and whatever they say stops no start', () => {
  const environment = {
    INDEX_SEED_PORT: 'none',
    INDEX_DOWNLOAD_BY: 'pigeon',
    INDEX_SEED_HOST: '',
    HOST: '::',
  };
  assert.deepEqual(retiredVariables(environment), ['INDEX_SEED_PORT', 'INDEX_DOWNLOAD_BY']);
  assert.equal(readConfig(environment).HOST, '::');
  const known = new Set(describeConfig().map(({ name }) => name));
  assert.ok(!known.has('INDEX_SEED_PORT'));
});

test('a program that is started learns where things are, and no key', () => {
  const environment = { PATH: '/bin', STRIPE_SECRET_KEY: 'sk', DATABASE_URL: 'postgres://u:secret@h/d' };
  assert.deepEqual(
    Object.entries(childEnvironment(environment)).filter(([, value]) => value !== undefined),
    [['PATH', '/bin']],
  );
});

test('the port after that of the local Solana ledger is taken too', () => {
  assert.throws(() => readConfig({ LOCAL_SOLANA_PORT: '7000', LOCAL_CARD_PORT: '7001' }), {
    message:
      'LOCAL_CARD_PORT is 7001, where the local Solana ledger serves WebSockets (LOCAL_SOLANA_PORT + 1): set one of the two to another',
  });
  readConfig({ LOCAL_SOLANA_PORT: '7000', LOCAL_CARD_PORT: '7001', NAMES_ENABLED: 'false' });
  readConfig({ LOCAL_SOLANA_PORT: '0', LOCAL_CARD_PORT: '1' });
});

test('a misspelt variable is told with the name that is meant, and what belongs to others is not', () => {
  assert.deepEqual(misspeltVariables({ GATEWAY_PROT: '1', X402_NETWORK: 'base', LOCAL_WALETS: '0' }), [
    'GATEWAY_PROT is set and means nothing here: is GATEWAY_PORT meant?',
    'X402_NETWORK is set and means nothing here: is X402_NETWORKS meant?',
    'LOCAL_WALETS is set and means nothing here: is LOCAL_WALLETS meant?',
  ]);
  const others = [
    'HOME',
    'PATH',
    'USER',
    'SHELL',
    'HOSTNAME',
    'LOGNAME',
    'EDITOR',
    'NODE_ENV',
    'CI',
    'TMPDIR',
    'POSTGRES_URL',
  ];
  const ours = [...describeConfig().map(({ name }) => name), 'INDEX_SEED_PORT'];
  assert.deepEqual(
    misspeltVariables(Object.fromEntries([...others, ...ours].map((name) => [name, 'x']))),
    [],
  );
});

test('an address of PostgreSQL may name several hosts, and those of standbys are separated by commas', () => {
  assert.deepEqual(postgresHosts('postgres://u:p%40w@one:1,two,[::1]:3/db?sslmode=require'), [
    'postgres://u:p%40w@one:1/db?sslmode=require',
    'postgres://u:p%40w@two/db?sslmode=require',
    'postgres://u:p%40w@[::1]:3/db?sslmode=require',
  ]);
  assert.deepEqual(postgresHosts('postgresql:///db?host=/run/postgresql'), [
    'postgresql:///db?host=/run/postgresql',
  ]);
  const many = Array.from({ length: 17 }, (_, n) => `h${n}`).join(',');
  for (const wrong of [
    'mysql://x',
    'postgres://one,,two/db',
    'postgres://one:x,two/db',
    `postgres://${many}/db`,
    'one,two',
  ]) {
    assert.throws(() => postgresHosts(wrong), Error, wrong);
    assert.throws(() => readConfig({ DATABASE_URL: wrong }), /^Error: DATABASE_URL|DATABASE_URL/, wrong);
  }
  const read = readConfig({ DATABASE_READ_URLS: 'postgres://u@one,two/db, postgres://u@three/db' });
  assert.deepEqual(read.DATABASE_READ_URLS, [
    'postgres://u@one/db',
    'postgres://u@two/db',
    'postgres://u@three/db',
  ]);
  assert.deepEqual(readConfig({}).DATABASE_READ_URLS, []);
  const hide = createRedactor({ DATABASE_READ_URLS: 'postgres://u:pazz7@one/db,postgres://u:pazz8@two/db' });
  assert.doesNotMatch(hide('lost postgres://u:pazz7@one/db and postgres://u:pazz8@two/db'), /pazz/);
});
