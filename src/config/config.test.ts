import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ConfigError, describeConfig, readConfig } from './config.ts';
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

test('a password inside an address is not shown', () => {
  const rows = describeConfig({
    ARWEAVE_NODE_URLS: 'http://me:secret@one.example,https://two.example:1984/x',
  });
  const shown = rows.find(({ name }) => name === 'ARWEAVE_NODE_URLS')?.current;
  assert.equal(shown, 'http://me:(hidden)@one.example,https://two.example:1984/x');
});

describe('readConfig', () => {
  test('an empty environment gives the defaults, and an empty value counts as absent', () => {
    const config = readConfig({ GATEWAY_PORT: '' });
    assert.equal(config.GATEWAY_PORT, 4000);
    assert.equal(config.HOST, '127.0.0.1');
    assert.equal(config.DATABASE_URL, undefined);
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

test('confirmations that are not set follow the network', () => {
  assert.equal(readConfig({}).BUNDLE_CONFIRMATIONS, 1);
  assert.equal(readConfig({ ARWEAVE_NODE_URLS: 'https://node.example' }).BUNDLE_CONFIRMATIONS, 18);
  assert.equal(readConfig({ BUNDLE_CONFIRMATIONS: '5' }).BUNDLE_CONFIRMATIONS, 5);
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
    assert.equal(shown('http://127.0.0.1:8899/rpc'), 'http://127.0.0.1:8899/rpc');
    assert.equal(
      shown('https://rpc.example/v2/0123456789abcdefABCDEF01, https://u:p@two.example/?api-key=k1&net=main'),
      'https://rpc.example/v2/(hidden), https://u:(hidden)@two.example/?api-key=(hidden)&net=(hidden)',
    );
    const [problem = ''] = problemsOf({ SOLANA_RPC_URL: 'wss://rpc.example/?api-key=k1' });
    assert.ok(problem.includes('api-key=(hidden)') && !problem.includes('k1'), problem);
  });

  test('every variable has a meaning', () => {
    for (const row of describeConfig()) assert.ok(row.meaning.length > 5, row.name);
  });
});
