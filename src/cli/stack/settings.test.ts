import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigError, readConfig } from '../../config/config.ts';
import { localWallets } from '../../wallets/local-wallets.ts';
import { surfaceNames } from '../stack.ts';
import { checkSettings } from './settings.ts';

const id = 'LudA6glCd-BgVeKGscDJ5ZyBotQiDYWj_2UtKpOQnxM';

function problemsOf(environment: Record<string, string>, surfaces = surfaceNames): readonly string[] {
  try {
    checkSettings(readConfig(environment), surfaces);
    return [];
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    return error.problems;
  }
}

test('what needs nobody but the settings to be seen wrong is said before anything is opened', () => {
  assert.deepEqual(problemsOf({}), []);
  for (const [environment, problem] of [
    [{ APEX_TX_ID: id, APEX_ARNS_NAME: 'docs' }, /^APEX_TX_ID and APEX_ARNS_NAME exclude each other/],
    [{ APEX_TX_ID: 'short' }, /^APEX_TX_ID is not an id/],
    [{ APEX_ARNS_NAME: '\u212Aelvin' }, /^APEX_ARNS_NAME is not a name/],
    [{ ARNS_NOT_FOUND_TX_ID: 'short' }, /^ARNS_NOT_FOUND_TX_ID is not an id/],
    [{ ANS104_UNBUNDLE_FILTER: '{"always":true,"never":true}' }, /^ANS104_UNBUNDLE_FILTER /],
    [{ ANS104_INDEX_FILTER: '{"odd":true}' }, /^ANS104_INDEX_FILTER /],
    [{ INDEX_SUBSCRIBE: '[{"publisher":"x","url":"y"}]' }, /^INDEX_SUBSCRIBE publisher and key/],
    [{ INDEX_TORRENT_COMMAND: 'aria2c' }, /^INDEX_TORRENT_COMMAND must be/],
    [{ INDEX_PUBLISHER_WALLET: 'x' }, /^INDEX_PUBLISHER_WALLET must be/],
    [{ TRUSTED_PROXIES: 'nobody' }, /^TRUSTED_PROXIES: "nobody" is no address/],
    [{ RATE_LIMITER_IPS_AND_CIDRS_ALLOWLIST: '1.2.3.4/99' }, /^RATE_LIMITER_IPS_AND_CIDRS_ALLOWLIST/],
    [{ ARNS_DEFAULT_TARGET: 'short' }, /^ARNS_DEFAULT_TARGET must be/],
    [
      { WORLD: 'testnet', SOLANA_SIGNER_SECRET_KEY: localWallets(1).solana[0]!.secretKey },
      /^SOLANA_SIGNER_SECRET_KEY is a key of the local network/,
    ],
    [{ ANT_SPAWN_WINC_SURCHARGE: '-1' }, /^ANT_SPAWN_WINC_SURCHARGE must be/],
    [{ ETHEREUM_ADDRESS: 'somebody' }, /^ETHEREUM_ADDRESS is not an address/],
    [{ SOLANA_SIGNER_SECRET_KEY: 'x' }, /^SOLANA_SIGNER_SECRET_KEY must be/],
    [{ ARNS_PROGRAM_CLUSTER: 'custom' }, /^ARNS_PROGRAM_ID must be/],
    [{ X402_PAYMENT_ADDRESS: 'somebody' }, /^X402_PAYMENT_ADDRESS is not/],
    [{ BLOB_STORE_URL: 's3://nowhere' }, /^BLOB_STORE_URL must be/],
    [{ BASE_DOMAIN: 'a b' }, /^BASE_DOMAIN must be/],
    [{ RESTRICT_TO_ROOT_HOST: 'true' }, /^RESTRICT_TO_ROOT_HOST needs/],
    [{ OTEL_EXPORTER_OTLP_HEADERS: '=x' }, /^OTEL_EXPORTER_OTLP_HEADERS must be/],
    [{ BLOCK_LISTED_ADDRESSES: 'somebody' }, /^BLOCK_LISTED_ADDRESSES must be/],
  ] as const) {
    const problems = problemsOf(environment);
    assert.equal(problems.length, 1, JSON.stringify([environment, problems]));
    assert.match(problems[0] ?? '', problem);
  }
});

test('all of them are said at once, and only for what is started', () => {
  const wrong = { APEX_TX_ID: 'short', BASE_DOMAIN: 'a b', ARNS_DEFAULT_TARGET: 'short' };
  assert.equal(problemsOf(wrong).length, 3);
  assert.deepEqual(problemsOf(wrong, ['upload']), []);
  assert.deepEqual(problemsOf(wrong, ['router']), ['BASE_DOMAIN must be a domain']);
});
