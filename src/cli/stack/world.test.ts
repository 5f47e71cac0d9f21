import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { readConfig } from '../../config/config.ts';
import { variables } from '../../config/variables.ts';
import { localWallets } from '../../wallets/local-wallets.ts';
import { contradictions, type Heard } from './world.ts';

const all = ['gateway', 'payment', 'upload', 'router'];
const node = 'https://arweave.net';
/** Everything that a whole stack needs in the world `public`. */
const real = {
  WORLD: 'public',
  ARWEAVE_NODE_URLS: node,
  SOLANA_RPC_URL: 'https://api.mainnet-beta.solana.com',
  STRIPE_SECRET_KEY: 'sk_live_1',
  STRIPE_WEBHOOK_SECRET: 'whsec_1',
  X402_FACILITATOR_URL: 'https://x402.org/facilitator',
  X402_PAYMENT_ADDRESS: `0x${'12'.repeat(20)}`,
  RATES_URL: 'https://api.coingecko.com/api/v3',
};
const tests = {
  ...real,
  WORLD: 'testnet',
  STRIPE_SECRET_KEY: 'sk_test_1',
  SOLANA_RPC_URL: 'https://api.devnet.solana.com',
};

interface Asked {
  readonly surfaces?: readonly string[];
  readonly heard?: readonly Heard[];
  readonly folder?: 'local' | 'testnet' | 'public';
}

const lines = (
  environment: Record<string, string | undefined>,
  { surfaces = all, heard = [], folder }: Asked = {},
): string[] => contradictions({ config: readConfig(environment), surfaces, heard, folder });

/** The variable that each line is about. */
const variablesOf = (...asked: Parameters<typeof lines>): string[] =>
  lines(...asked).map((line) => /^[A-Z0-9_]+/.exec(line)?.[0] ?? line);

describe('a start that is of one world', () => {
  test('is one without any setting, of every surface', () => {
    assert.deepEqual(lines({}), []);
    for (const surface of all) assert.deepEqual(lines({}, { surfaces: [surface] }), []);
  });

  test('is one with everything real, and one with everything of test networks', () => {
    assert.deepEqual(lines(real), []);
    assert.deepEqual(lines({ ...tests, RATES_URL: undefined }), [], 'test money may have fixed rates');
  });

  test('is a local one with the test mode of the card provider and a test network of x402', () => {
    const { STRIPE_SECRET_KEY, STRIPE_WEBHOOK_SECRET, X402_FACILITATOR_URL, X402_PAYMENT_ADDRESS } = tests;
    assert.deepEqual(
      lines({
        STRIPE_SECRET_KEY,
        STRIPE_WEBHOOK_SECRET,
        X402_FACILITATOR_URL,
        X402_PAYMENT_ADDRESS,
        X402_NETWORKS: 'base-sepolia,polygon-amoy',
      }),
      [],
    );
  });
});

describe('outside of the world local nothing local stands in', () => {
  for (const [name, whole] of [
    ['public', real],
    ['testnet', tests],
  ] as const) {
    for (const variable of [
      'ARWEAVE_NODE_URLS',
      'SOLANA_RPC_URL',
      'STRIPE_SECRET_KEY',
      'X402_FACILITATOR_URL',
    ]) {
      test(`${name}: ${variable} is needed`, () => {
        const [line = '', ...more] = lines({ ...whole, [variable]: undefined });
        assert.deepEqual(more, []);
        assert.match(line, new RegExp(`^${variable} must be set.*WORLD=${name} does not use the local`));
      });
    }
  }

  test('what is switched off is not needed', () => {
    const bare = { WORLD: 'public', ARWEAVE_NODE_URLS: node, RATES_URL: real.RATES_URL };
    assert.deepEqual(variablesOf(bare), ['SOLANA_RPC_URL', 'STRIPE_SECRET_KEY', 'X402_FACILITATOR_URL']);
    const off = { ...bare, NAMES_ENABLED: 'false', CARD_PAYMENTS_ENABLED: 'false', X402_ENABLED: 'false' };
    assert.deepEqual(lines(off), []);
  });

  test('a gateway needs a node, a router nothing, an upload service no card and no names', () => {
    const bare = { WORLD: 'public' };
    assert.deepEqual(variablesOf(bare, { surfaces: ['router'] }), []);
    assert.deepEqual(variablesOf(bare, { surfaces: ['gateway'] }), ['ARWEAVE_NODE_URLS']);
    assert.deepEqual(lines({ ...bare, ARWEAVE_NODE_URLS: node }, { surfaces: ['gateway', 'router'] }), []);
    assert.deepEqual(variablesOf(bare, { surfaces: ['upload'] }), [
      'ARWEAVE_NODE_URLS',
      'X402_FACILITATOR_URL',
      'RATES_URL',
    ]);
  });

  test('a gateway that sells reading needs a facilitator and rates', () => {
    const metered = { WORLD: 'public', ARWEAVE_NODE_URLS: node, ENABLE_RATE_LIMITER: 'true' };
    assert.deepEqual(lines(metered, { surfaces: ['gateway'] }), []);
    assert.deepEqual(variablesOf({ ...metered, EGRESS_PAYMENTS: 'true' }, { surfaces: ['gateway'] }), [
      'X402_FACILITATOR_URL',
      'RATES_URL',
    ]);
  });
});

describe('settings of another world are refused', () => {
  test('rates that stand still, where something is sold for real money', () => {
    assert.deepEqual(variablesOf({ ...real, RATES_URL: undefined }), ['RATES_URL']);
    assert.deepEqual(lines({ ...real, RATES_URL: undefined }, { surfaces: ['gateway', 'router'] }), []);
  });

  test('placeholders of a template, each told with its variable', () => {
    const placeholders = {
      ARWEAVE_NODE_URLS: 'https://arweave.net,https://node.example',
      X402_PAYMENT_ADDRESS: `0x${'1'.repeat(40)}`,
      X402_RPC_URLS: '{"base":"https://base.example"}',
      RATES_URL: 'https://rates.example.org/v3',
    };
    for (const [name, value] of Object.entries(placeholders)) {
      const [line = '', ...others] = lines({ ...real, [name]: value });
      assert.deepEqual(others, []);
      assert.match(
        line,
        new RegExp(`^${name} has a placeholder, .*: set it to your own, or leave it unset$`),
      );
    }
    assert.deepEqual(lines({ GATEWAY_URL: 'https://gateway.example.org' }), [], 'who only tries is let be');
  });

  test('test keys of the card provider with real money, live keys without', () => {
    for (const key of ['sk_test_1', 'rk_test_1', 'sk_org_test_1']) {
      assert.deepEqual(variablesOf({ ...real, STRIPE_SECRET_KEY: key }), ['STRIPE_SECRET_KEY'], key);
    }
    for (const key of ['sk_live_1', 'rk_live_1', 'sk_org_live_1']) {
      assert.deepEqual(lines({ ...real, STRIPE_SECRET_KEY: key }), [], key);
      assert.deepEqual(variablesOf({ ...tests, STRIPE_SECRET_KEY: key }), ['STRIPE_SECRET_KEY'], key);
      const local = { STRIPE_SECRET_KEY: key, STRIPE_WEBHOOK_SECRET: 'whsec_1' };
      const [line = ''] = lines(local);
      assert.match(line, /^STRIPE_SECRET_KEY is a live key.*set a test key.*or WORLD to public$/);
      assert.ok(!line.includes(key), 'the key is not repeated');
      assert.deepEqual(lines(local, { surfaces: ['gateway'] }), [], 'nobody uses it');
      assert.deepEqual(lines({ ...local, CARD_PAYMENTS_ENABLED: 'false' }), []);
    }
  });

  test('test networks of x402 with real money, main networks without, by either name', () => {
    for (const [network, test] of [
      ['base-sepolia', true],
      ['eip155:84532', true],
      ['polygon-amoy', true],
      ['base', false],
      ['eip155:8453', false],
      ['polygon', false],
      ['ethereum', false],
    ] as const) {
      const wrong = ['X402_NETWORKS'];
      assert.deepEqual(variablesOf({ ...real, X402_NETWORKS: network }), test ? wrong : [], network);
      assert.deepEqual(variablesOf({ ...tests, X402_NETWORKS: network }), test ? [] : wrong, network);
      assert.deepEqual(variablesOf({ X402_NETWORKS: network }), test ? [] : wrong, network);
      assert.deepEqual(lines({ X402_NETWORKS: network, X402_ENABLED: 'false' }), [], network);
    }
    assert.equal(lines({ ...real, X402_NETWORKS: 'base-sepolia,polygon-amoy,base' }).length, 2);
    assert.match(
      lines({ X402_NETWORKS: 'bass' })[0] ?? '',
      /^X402_NETWORKS names "bass", which is not known/,
    );
  });

  test('name programs of another cluster', () => {
    for (const [cluster, home] of [
      ['local', 'local'],
      ['devnet', 'testnet'],
      ['mainnet', 'public'],
      ['custom', undefined],
    ] as const) {
      for (const [world, whole] of [
        ['local', {}],
        ['testnet', tests],
        ['public', real],
      ] as const) {
        const found = variablesOf({ ...whole, ARNS_PROGRAM_CLUSTER: cluster });
        const isHome = home === undefined || home === world;
        assert.deepEqual(found, isHome ? [] : ['ARNS_PROGRAM_CLUSTER'], `${cluster} in ${world}`);
      }
    }
    assert.deepEqual(lines({ ...real, ARNS_PROGRAM_CLUSTER: 'devnet', NAMES_ENABLED: 'false' }), []);
  });

  test('a folder whose credits were bought in another world', () => {
    assert.deepEqual(lines(real, { folder: 'public' }), []);
    assert.match(
      lines(real, { folder: 'local' })[0] ?? '',
      /^DATA_DIR \.\/data holds credits of WORLD=local: set/,
    );
    assert.deepEqual(variablesOf({}, { folder: 'public' }), ['DATA_DIR']);
  });

  test('all of them are told together', () => {
    assert.deepEqual(
      variablesOf({ WORLD: 'public', X402_NETWORKS: 'base-sepolia', ARNS_PROGRAM_CLUSTER: 'devnet' }),
      [
        'ARWEAVE_NODE_URLS',
        'SOLANA_RPC_URL',
        'STRIPE_SECRET_KEY',
        'X402_FACILITATOR_URL',
        'RATES_URL',
        'X402_NETWORKS',
        'ARNS_PROGRAM_CLUSTER',
      ],
    );
  });
});

describe('what the outside says of itself', () => {
  const heard = (origin: Heard['origin'], variable = 'ARWEAVE_NODE_URLS'): readonly Heard[] => [
    { variable, url: 'https://node.example/k3y', origin, says: 'its network is x' },
  ];

  test('must be of the same world', () => {
    for (const [world, whole] of [
      ['local', {}],
      ['testnet', tests],
      ['public', real],
    ] as const) {
      for (const origin of ['local', 'testnet', 'public', 'other'] as const) {
        const found = variablesOf(whole, { heard: heard(origin) });
        assert.deepEqual(found, origin === world ? [] : ['ARWEAVE_NODE_URLS'], `${origin} in ${world}`);
      }
    }
  });

  test('tells which world to set, and no key', () => {
    assert.deepEqual(lines({}, { surfaces: ['gateway'], heard: heard('public') }), [
      'ARWEAVE_NODE_URLS: https://node.example/(hidden) is of the public network (its network is x): set WORLD to public, or leave ARWEAVE_NODE_URLS unset',
    ]);
    assert.match(
      lines(real, { heard: heard('local') })[0] ?? '',
      /is of a local network .* one of WORLD=public/,
    );
  });

  test('is needed in the world local where something is sold, and nowhere else', () => {
    assert.match(lines({}, { heard: heard(undefined) })[0] ?? '', /does not answer.*start it first/);
    assert.deepEqual(lines({}, { heard: heard(undefined), surfaces: ['gateway', 'router'] }), []);
    assert.deepEqual(lines(real, { heard: heard(undefined) }), []);
    assert.deepEqual(lines(tests, { heard: heard(undefined) }), []);
  });
});

test('wallets of the local network are named in no other world', () => {
  const [ethereum] = localWallets().ethereum;
  const [arweave] = localWallets().arweave;
  const named = {
    X402_PAYMENT_ADDRESS: ethereum?.address.toLowerCase() ?? '',
    FORMER_ARWEAVE_ADDRESSES: `LudA6glCd-BgVeKGscDJ5ZyBotQiDYWj_2UtKpOQnxM,${arweave?.address}`,
  };
  assert.deepEqual(
    lines({ ...real, ...named }).map((line) => line.split(' ', 1)[0]),
    ['FORMER_ARWEAVE_ADDRESSES', 'X402_PAYMENT_ADDRESS'],
  );
  assert.equal(lines({ ...tests, ...named }).length, 2);
  assert.deepEqual(lines(named), []);
});

test('the worked examples of the guide start', () => {
  const guide = readFileSync(join(import.meta.dirname, '../../../docs/operations.md'), 'utf8');
  const examples = [...guide.matchAll(/```ini\n# turnpike start ?(.*)\n([^`]*)```/g)];
  assert.equal(examples.length, 5);
  for (const [, words = '', text = ''] of examples) {
    const pairs = text
      .trim()
      .split('\n')
      .map((line): [string, string] => {
        const at = line.indexOf('=');
        return [line.slice(0, at), line.slice(at + 1)];
      });
    for (const [name] of pairs) assert.ok(name in variables, name);
    const surfaces = words === '' ? all : words.split(' ');
    const isFilledIn = (line: string) => !line.includes(' has a placeholder, ');
    assert.deepEqual(lines(Object.fromEntries(pairs), { surfaces }).filter(isFilledIn), []);
  }
});
