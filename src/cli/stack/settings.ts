/**
 * Settings that are wrong, or exclude each other, found before anything is opened: each part reads its own as it will
 * when it is made, and what it refuses is one line. Whatever a start refuses for its settings alone belongs here.
 */
import { type Config, ConfigError } from '../../config/config.ts';
import { checkFork } from '../../fork/settings.ts';
import { apexOf } from '../../gateway/content/apex.ts';
import { readFilters } from '../../gateway/filters/configured.ts';
import { publisherWallet } from '../../gateway/published-indexes/publication/publisher.ts';
import { readSubscriptions } from '../../gateway/published-indexes/subscriber/subscriptions.ts';
import { torrentWords } from '../../gateway/published-indexes/torrent-command.ts';
import { StartupError } from '../../kernel/errors.ts';
import { networks } from '../../kernel/http/client-network.ts';
import { readKeyPair } from '../../kernel/tls/tls-keys.ts';
import { parseSecretKey } from '../../names/chain/service-key.ts';
import { namesSettings } from '../../names/settings.ts';
import { acceptedTokens } from '../../payments/chain/accepted-tokens.ts';
import { x402Payee } from '../../payments/x402/payee.ts';
import { configuredPrograms } from '../../registry/programs.ts';
import { routerSettings } from '../../router/settings.ts';
import { parseS3Url } from '../../storage/blobs/s3/address.ts';
import { isKnownToEveryone } from '../../wallets/local-wallets.ts';
import { listProblems } from '../config-lists.ts';
import { outside } from './outside.ts';
import { parseHeaders } from './tracing.ts';

type Reading = (config: Config) => unknown;

const proxies: Reading = (config) => networks('TRUSTED_PROXIES', config.TRUSTED_PROXIES);

const payee: Reading = ({ X402_PAYMENT_ADDRESS: address }) => address !== undefined && x402Payee(address);

const certificate: Reading = ({ TLS_CERTIFICATE_FILE: file, TLS_KEY_FILE: key }) =>
  file !== undefined && key !== undefined && readKeyPair(file, key);

const signer: Reading = ({ SOLANA_SIGNER_SECRET_KEY: key, WORLD }) => {
  if (key === undefined) return;
  const { address } = parseSecretKey(key);
  if (WORLD === 'local' || !isKnownToEveryone(address)) return;
  throw new StartupError(
    `SOLANA_SIGNER_SECRET_KEY is a key of the local network, which everybody has: WORLD=${WORLD} needs another`,
  );
};

const ofSurface: Readonly<Record<string, readonly Reading[]>> = {
  gateway: [
    proxies,
    ({ RATE_LIMITER_IPS_AND_CIDRS_ALLOWLIST: allowed }) =>
      networks('RATE_LIMITER_IPS_AND_CIDRS_ALLOWLIST', allowed),
    readFilters,
    apexOf,
    ({ INDEX_SUBSCRIBE }) => readSubscriptions(INDEX_SUBSCRIBE),
    ({ INDEX_TORRENT_COMMAND: command }) => command !== undefined && torrentWords(command),
    publisherWallet,
  ],
  payment: [
    proxies,
    (config) => config.NAMES_ENABLED && namesSettings(config),
    // The wallets that money goes to, without a chain to ask about it.
    (config) =>
      acceptedTokens(
        { ...config, ETHEREUM_RPC_URL: [], MATIC_RPC_URL: [], BASE_RPC_URL: [] },
        { arweaveNodes: [], solanaRpcUrls: [] },
      ),
    signer,
  ],
  upload: [proxies, ({ BLOB_STORE_URL: url }) => url !== undefined && parseS3Url(url)],
  router: [(config) => routerSettings(config, () => undefined)],
};

/** Throws `ConfigError` with a line for each. */
export function checkSettings(config: Config, surfaces: readonly string[]): void {
  const readings = [
    ...surfaces.flatMap((name) => ofSurface[name] ?? []),
    ...(outside.solana.isUsed(config, surfaces) ? [configuredPrograms] : []),
    ...(outside.x402.isUsed(config, surfaces) ? [payee] : []),
    certificate,
    checkFork,
    () => parseHeaders(config.OTEL_EXPORTER_OTLP_HEADERS ?? ''),
  ];
  const problems = [...listProblems(config), ...readings.flatMap((read) => problemsOf(() => read(config)))];
  if (problems.length > 0) throw new ConfigError([...new Set(problems)]);
}

function problemsOf(read: () => unknown): string[] {
  try {
    read();
    return [];
  } catch (error) {
    if (error instanceof StartupError) return error.message.split('\n');
    throw error;
  }
}
