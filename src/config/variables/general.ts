import {
  boolean,
  fraction,
  integer,
  milliseconds,
  oneOf,
  port,
  secret,
  text,
  url,
  type Variable,
  worldNames,
} from '../kinds.ts';
import { postgresHosts } from '../postgres-url.ts';

export const general = {
  WORLD: oneOf(worldNames, {
    meaning:
      'Which money and chains this is about: `local` = play money on chains of its own, `testnet` = public test networks, `public` = real money. A start that mixes them is refused',
    default: 'local',
  }),
  HOST: text({ meaning: 'Address that every surface binds', default: '127.0.0.1' }),
  LOCAL_NETWORK_HOST: text({
    meaning:
      'Address that the parts of the local network bind, whatever HOST says: they give play money to whoever asks',
    default: '127.0.0.1',
  }),
  LOCAL_WALLETS: integer({
    meaning:
      'Wallets of each kind (Arweave, Ethereum, Solana) that the local network gives money to and the start prints; their keys are known to everyone',
    default: 10,
    max: 10,
  }),
  DATA_DIR: text({
    meaning: 'Folder that holds everything durable: keys, databases, blobs',
    default: './data',
  }),
  LOCAL_TLS: boolean({
    meaning:
      "Answer `https://` and HTTP/2 on the same ports, with certificates of this installation's own authority; `turnpike certificate` tells how to trust it",
    default: false,
    inWorlds: { local: true },
  }),
  TLS_CERTIFICATE_FILE: text({
    meaning:
      'Certificate, with those between it and its authority, as PEM: every surface answers `https://` and HTTP/2 with it on the same port. Without it a proxy in front speaks TLS',
    default: undefined,
  }),
  TLS_KEY_FILE: text({ meaning: 'Private key of TLS_CERTIFICATE_FILE, as PEM', default: undefined }),
  DATABASE_URL: postgresUrl(
    'PostgreSQL to share between processes; without it SQLite files in DATA_DIR are used. Of several hosts (`postgres://user@one,two/name`) the primary is found and found again. `?pool_size=` is how many connections a process has to each schema, 8 unless said',
  ),
  DATABASE_URL_LEDGER: postgresUrl(
    'PostgreSQL of the schema `ledger` (money, uploads, names), where that has a server of its own',
  ),
  DATABASE_URL_GATEWAY: postgresUrl(
    'PostgreSQL of the schema `gateway` (the index), where that has a server of its own',
  ),
  DATABASE_URL_ROUTER: postgresUrl(
    'PostgreSQL of the schema `router` (what it has proven, blocks and counts), where that has a server of its own',
  ),
  DATABASE_READ_URLS: postgresUrls(
    "Standbys of the gateway's PostgreSQL, each with an address of its own, separated by commas: readers of the index are answered from them. The same for every process",
  ),
  DATABASE_READ_MAX_STALENESS_MS: milliseconds({
    meaning:
      'A standby that lacks something older than this is not read from: the primary answers. So long a write waits at most until readers everywhere see it',
    default: 1_000,
    min: 50,
    max: 60_000,
  }),
  BLOB_STORE_URL: secretUrl(
    'S3-compatible store, `s3://key:secret@host:port/bucket` (`s3s://` over TLS); without it blobs are files in DATA_DIR',
    ['s3', 's3s'],
  ),
  BACKUP_URL: secret({
    meaning:
      'Where `turnpike backup` and `turnpike restore` have backups when no place is given: a folder, or `s3://key:secret@host:port/bucket/prefix` (`s3s://` over TLS)',
  }),
  GATEWAY_URL: url({
    meaning:
      'Where readers find the gateway, as receipts and `/info` name it; also where new items are made known, and where the router reads, when the gateway runs in another process. Without it the gateway of this process, else HOST and GATEWAY_PORT',
    default: undefined,
  }),
  UPLOAD_URL: url({
    meaning:
      'Upload service that runs in another process: the gateway serves its items before they are mined. Without it the one of this process',
    default: undefined,
  }),
  LOG_LEVEL: oneOf(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], {
    meaning: 'Least severe log line that is written',
    default: 'info',
  }),
  LOG_FORMAT: oneOf(['json', 'pretty'], { meaning: 'Log lines for machines or for people', default: 'json' }),
  WORKER_THREADS: integer({
    meaning: 'Threads for CPU work (signatures, hashing, unbundling); 0 = one per core',
    default: 0,
    max: 256,
  }),
  SCRUB_PERCENT: fraction({
    meaning:
      'Share of the time, in percent of a core, in which stored files are read in the background and compared with their digests; 0 = never',
    default: 2,
    max: 50,
  }),
  SHUTDOWN_DRAIN_TIMEOUT_MS: milliseconds({
    meaning: 'How long in-flight requests may finish after SIGTERM or SIGINT',
    default: 15_000,
  }),
  SHUTDOWN_TIMEOUT_MS: milliseconds({ meaning: 'After this the process exits by force', default: 30_000 }),
};

function secretUrl(meaning: string, protocols: readonly string[]) {
  const parsed = url({ meaning, default: undefined, protocols });
  return { ...secret({ meaning }), kind: 'url', parse: parsed.parse };
}

function postgresUrl(meaning: string) {
  const parse = (value: string) => {
    postgresHosts(value);
    return value.replace(/\/+$/, '');
  };
  return { ...secret({ meaning }), kind: 'url', parse };
}

function postgresUrls(meaning: string): Variable<readonly string[]> {
  const { secretsIn, ...hidden } = secret({ meaning });
  const parse = (value: string) => splitUrls(value).flatMap(postgresHosts);
  return {
    ...hidden,
    kind: 'comma-separated urls',
    secretsIn: (value) => [value, ...splitUrls(value)].flatMap(secretsIn),
    inWorlds: {},
    parse,
    fallback: [],
    write: (value) => value.join(','),
  };
}

/** At commas before an address: those inside one separate its hosts. */
const splitUrls = (value: string): string[] =>
  value
    .split(/,(?=\s*postgres(?:ql)?:\/\/)/)
    .map((one) => one.trim())
    .filter((one) => one !== '');

export const ports = {
  PORT: port({ meaning: 'Router', default: 3000 }),
  ADMIN_PORT: port({ meaning: "Router's admin page", default: 3001 }),
  GATEWAY_PORT: port({ meaning: 'Gateway', default: 4000 }),
  PAYMENT_PORT: port({ meaning: 'Payment and names', default: 4001 }),
  UPLOAD_PORT: port({ meaning: 'Upload', default: 4002 }),
  CONSOLE_PORT: port({ meaning: 'Console', default: 4003 }),
  LOCAL_ARWEAVE_PORT: port({ meaning: 'Local Arweave node', default: 1984 }),
  LOCAL_SOLANA_PORT: port({
    meaning: 'Local Solana ledger; the port after it is for WebSockets, where clients look for them',
    default: 8899,
  }),
  LOCAL_CARD_PORT: port({ meaning: 'Local card provider', default: 4242 }),
  LOCAL_X402_PORT: port({ meaning: 'Local x402 facilitator', default: 4243 }),
};
