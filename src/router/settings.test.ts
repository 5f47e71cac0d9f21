import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readConfig } from '../config/config.ts';
import { isPrivateHost } from './gateways/sources.ts';
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

test('the ports of the router and its admin page differ', () => {
  assert.throws(() => readConfig({ PORT: '3000', ADMIN_PORT: '3000' }), /ADMIN_PORT must differ from PORT/);
});

test('lists that others write lead nowhere inside', () => {
  for (const host of [
    '127.0.0.1',
    '10.1.2.3',
    '169.254.169.254',
    '[::1]',
    '[fd00::1]',
    'localhost',
    'db.internal',
    'intranet',
  ]) {
    assert.ok(isPrivateHost(host), host);
  }
  for (const host of ['gw.example', '93.184.216.34', '[2606:2800:220:1::1]'])
    assert.ok(!isPrivateHost(host), host);
});
