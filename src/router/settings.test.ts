import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readConfig } from '../config/config.ts';
import { routerSettings } from './settings.ts';

const settingsOf = (environment: Record<string, string>) =>
  routerSettings(readConfig(environment), () => 'http://127.0.0.1:4000');

test('by default the gateway of the stack is the only one', async () => {
  const settings = settingsOf({});
  assert.deepEqual(await settings.routing.read(), ['http://127.0.0.1:4000']);
  assert.deepEqual(await settings.verification.read(), ['http://127.0.0.1:4000']);
  assert.equal(settings.telemetryPath, 'data/telemetry.db');
});

test('every contradiction is named at once', () => {
  assert.throws(
    () =>
      settingsOf({
        BASE_DOMAIN: 'not a domain',
        RESTRICT_TO_ROOT_HOST: 'true',
        ROUTING_GATEWAY_SOURCE: 'network',
        ROUTING_STATIC_GATEWAYS: 'https://user@gw.example/path',
        VERIFICATION_STATIC_GATEWAYS: 'https://a.example,https://b.example',
        ARNS_CONSENSUS_THRESHOLD: '3',
      }),
    (error: Error) =>
      [
        'BASE_DOMAIN',
        'RESTRICT_TO_ROOT_HOST',
        'NETWORK_REGISTRY_URL',
        'ROUTING_STATIC_GATEWAYS',
        'ARNS_CONSENSUS_THRESHOLD',
      ].every((name) => error.message.includes(name)),
  );
});

test('how many must agree on names is never lowered without a word', () => {
  const list = (count: number) =>
    Array.from({ length: count }, (_, index) => `https://g${index}.example`).join(',');
  assert.equal(settingsOf({}).consensusThreshold, 1, 'one gateway can only agree with itself');
  assert.equal(settingsOf({ ROUTING_STATIC_GATEWAYS: list(1) }).consensusThreshold, 1);
  assert.equal(settingsOf({ ROUTING_STATIC_GATEWAYS: list(3) }).consensusThreshold, 2);
  for (const name of ['ROUTING_STATIC_GATEWAYS', 'VERIFICATION_STATIC_GATEWAYS']) {
    assert.throws(
      () => settingsOf({ [name]: list(2), ARNS_CONSENSUS_THRESHOLD: '3' }),
      /ARNS_CONSENSUS_THRESHOLD is 3, but only 2/,
    );
  }
});

test('gateways are named by origin, since nothing else of the address would be used', () => {
  for (const name of [
    'ROUTING_STATIC_GATEWAYS',
    'VERIFICATION_STATIC_GATEWAYS',
    'NETWORK_FALLBACK_GATEWAYS',
    'TRUSTED_PEER_GATEWAY',
    'ARWEAVE_READ_NODES',
  ]) {
    for (const url of [
      'https://gw.example/path',
      'https://user:secret@gw.example',
      'https://gw.example?a=1',
    ]) {
      assert.throws(
        () => settingsOf({ [name]: url }),
        ({ message }: Error) => message.includes(name) && !message.includes('secret'),
      );
    }
  }
});

test('every variable of the contract has its default', () => {
  const config = readConfig({});
  const defaults: Partial<typeof config> = {
    PORT: 3000,
    ADMIN_PORT: 3001,
    ADMIN_HOST: '127.0.0.1',
    ADMIN_TOKEN: undefined,
    BASE_DOMAIN: 'localhost',
    ROOT_HOST_CONTENT: undefined,
    ROUTING_GATEWAY_SOURCE: 'static',
    ARNS_CONSENSUS_THRESHOLD: 2,
    VERIFICATION_ENABLED: true,
    VERIFICATION_GATEWAY_COUNT: 3,
    VERIFICATION_GATEWAY_SOURCE: 'static',
    CONTENT_CACHE_MAX_SIZE_BYTES: 53_687_091_200,
    STREAM_TIMEOUT_MS: 120_000,
    RATE_LIMIT_ENABLED: false,
    TELEMETRY_SAMPLE_SUCCESS: 0.1,
    TELEMETRY_SAMPLE_ERRORS: 1,
    TELEMETRY_RETENTION_DAYS: 30,
    LOG_LEVEL: 'info',
    MODERATION_ENABLED: true,
    MODERATION_ADMIN_TOKEN: undefined,
    SHUTDOWN_DRAIN_TIMEOUT_MS: 15_000,
    SHUTDOWN_TIMEOUT_MS: 30_000,
  };
  for (const [name, value] of Object.entries(defaults)) {
    assert.equal(Object.getOwnPropertyDescriptor(config, name)?.value, value, name);
  }
  const settings = settingsOf({});
  assert.deepEqual(
    [settings.cachePath, settings.telemetryPath, settings.blocklistPath],
    ['data/content-cache', 'data/telemetry.db', 'data/blocklist.json'],
  );
  const moved = settingsOf({
    CONTENT_CACHE_PATH: '/cache',
    TELEMETRY_DB_PATH: '/t.db',
    MODERATION_BLOCKLIST_PATH: '/b.json',
  });
  assert.deepEqual(
    [moved.cachePath, moved.telemetryPath, moved.blocklistPath],
    ['/cache', '/t.db', '/b.json'],
  );
});

test('a value that a variable cannot have stops the start and is named, all of them at once', () => {
  const wrong = {
    PORT: '65536',
    ADMIN_PORT: 'abc',
    ROUTING_GATEWAY_SOURCE: 'elsewhere',
    ROUTING_STATIC_GATEWAYS: 'ftp://gw.example',
    ROUTING_STRATEGY: 'best',
    NETWORK_MIN_GATEWAYS: '0',
    TEMPERATURE_WINDOW_MS: '0.5',
    DEFAULT_MODE: 'both',
    ARNS_CONSENSUS_THRESHOLD: '0',
    VERIFICATION_ENABLED: 'yes',
    VERIFICATION_GATEWAY_COUNT: '51',
    VERIFICATION_GATEWAY_SOURCE: 'network',
    CONTENT_CACHE_MAX_SIZE_BYTES: '50GB',
    STREAM_TIMEOUT_MS: '1e3',
    RATE_LIMIT_ENABLED: 'on',
    TELEMETRY_SAMPLE_SUCCESS: '1.1',
    TELEMETRY_SAMPLE_ERRORS: '-0.5',
    TELEMETRY_RETENTION_DAYS: '0',
    LOG_LEVEL: 'loud',
    MODERATION_ENABLED: '2',
    SHUTDOWN_DRAIN_TIMEOUT_MS: '0x10',
    SHUTDOWN_TIMEOUT_MS: '+1',
  };
  assert.throws(
    () => readConfig(wrong),
    ({ message }: Error) => {
      for (const name of Object.keys(wrong)) assert.match(message, new RegExp(`^${name} `, 'm'), name);
      return true;
    },
  );
  assert.throws(
    () => readConfig({ SHUTDOWN_DRAIN_TIMEOUT_MS: '9', SHUTDOWN_TIMEOUT_MS: '8' }),
    /SHUTDOWN_TIMEOUT_MS/,
  );
});

test('the ports of the router and its admin page differ', () => {
  assert.throws(() => readConfig({ PORT: '3000', ADMIN_PORT: '3000' }), /ADMIN_PORT must differ from PORT/);
});
