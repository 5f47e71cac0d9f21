/**
 * One process deals with one world: play money on chains of its own (`local`), test networks (`testnet`), or real money
 * (`public`). Play money that buys real storage is a gift to strangers, real money for play storage a theft; so a start
 * that mixes them is refused, with one line for each thing that belongs elsewhere.
 *
 * Pure: `ask-world.ts` asks the outside which world it is of.
 */
import { type Config, showValue, type WorldName } from '../../config/config.ts';
import { findX402Network } from '../../formats/x402/networks.ts';
import { isKnownToEveryone } from '../../wallets/local-wallets.ts';
import { type OutsideName, outside, sellsSomething } from './outside.ts';

/** Which world something outside belongs to; `other` where it is none that its variable may name. */
export type Origin = WorldName | 'other';

/** What something outside says of itself. */
export interface Heard {
  readonly variable: string;
  readonly url: string;
  /** undefined: it does not answer. */
  readonly origin: Origin | undefined;
  /** Its own words, for the line. */
  readonly says?: string;
}

export interface Start {
  readonly config: Config;
  /** The surfaces that this process starts. */
  readonly surfaces: readonly string[];
  readonly heard: readonly Heard[];
  /** The world that the data folder belongs to; undefined for a new one. */
  readonly folder: WorldName | undefined;
}

type Rule = (start: Start) => readonly string[];

/** One line for each contradiction; none where the start may go on. */
export function contradictions(start: Start): string[] {
  return rules.flatMap((rule) => rule(start));
}

const rules: readonly Rule[] = [
  folderOfAnotherWorld,
  needs('arweave', 'ARWEAVE_NODE_URLS must be set', 'the local Arweave node'),
  namesNeedALedger,
  needs(
    'card',
    'STRIPE_SECRET_KEY must be set, or CARD_PAYMENTS_ENABLED to false',
    'the local card provider',
  ),
  needs('x402', 'X402_FACILITATOR_URL must be set, or X402_ENABLED to false', 'the local facilitator'),
  ratesThatStandStill,
  cardKeys,
  x402Networks,
  programCluster,
  knownKeys,
  placeholders,
  whatWasHeard,
];

/** Outside of the world `local` nothing of the local network stands in. */
function needs(name: OutsideName, advice: string, part: string): Rule {
  return ({ config, surfaces }) => {
    const { isUsed, isConfigured } = outside[name];
    if (config.WORLD === 'local' || !isUsed(config, surfaces) || isConfigured(config)) return [];
    return [`${advice}: WORLD=${config.WORLD} does not use ${part}`];
  };
}

/** A gateway alone serves content without names too; who sells names needs their chain. */
function namesNeedALedger(start: Start): readonly string[] {
  if (!start.surfaces.includes('payment')) return [];
  return needs(
    'solana',
    'SOLANA_RPC_URL must be set, or NAMES_ENABLED to false',
    'the local Solana ledger',
  )(start);
}

function ratesThatStandStill({ config, surfaces }: Start): readonly string[] {
  if (config.WORLD !== 'public' || config.RATES_URL !== undefined || !sellsSomething(config, surfaces)) {
    return [];
  }
  return ['RATES_URL must be set: WORLD=public does not sell at STATIC_RATES, which stand still'];
}

function cardKeys({ config, surfaces }: Start): readonly string[] {
  const { WORLD, STRIPE_SECRET_KEY: key } = config;
  if (key === undefined || !outside.card.isUsed(config, surfaces)) return [];
  if (WORLD === 'public' && /^[a-z]+_(org_)?test_/.test(key)) {
    return [
      'STRIPE_SECRET_KEY is a test key, whose payments are no money: set a live one (sk_live_…), or WORLD to testnet',
    ];
  }
  if (WORLD !== 'public' && /^[a-z]+_(org_)?live_/.test(key)) {
    return [
      `STRIPE_SECRET_KEY is a live key and WORLD=${WORLD} would take real money: set a test key (sk_test_…), or WORLD to public`,
    ];
  }
  return [];
}

function x402Networks({ config, surfaces }: Start): readonly string[] {
  const { WORLD, X402_NETWORKS } = config;
  if (!outside.x402.isUsed(config, surfaces)) return [];
  return X402_NETWORKS.flatMap((name) => {
    const network = findX402Network(name);
    if (network === undefined) return [`X402_NETWORKS names "${name.slice(0, 100)}", which is not known`];
    if (WORLD === 'public' && network.isTest) {
      return [
        `X402_NETWORKS names ${name}, whose dollars are no money: name main networks such as base, or set WORLD to testnet`,
      ];
    }
    if (WORLD !== 'public' && !network.isTest) {
      return [
        `X402_NETWORKS names ${name}, and WORLD=${WORLD} would take real money: name test networks such as base-sepolia, or set WORLD to public`,
      ];
    }
    return [];
  });
}

const worldOfCluster: Readonly<Record<string, WorldName>> = {
  local: 'local',
  devnet: 'testnet',
  mainnet: 'public',
};

function programCluster({ config, surfaces }: Start): readonly string[] {
  const { WORLD, ARNS_PROGRAM_CLUSTER: cluster } = config;
  const other = worldOfCluster[cluster];
  if (other === undefined || other === WORLD || !outside.solana.isUsed(config, surfaces)) return [];
  return [
    `ARNS_PROGRAM_CLUSTER=${cluster} is not of WORLD=${WORLD}: leave it unset, or set WORLD to ${other}`,
  ];
}

/** Wallets whose keys everybody has: what is sent there, or allowed to them, is anybody's. */
function knownKeys({ config }: Start): readonly string[] {
  if (config.WORLD === 'local') return [];
  return addressVariables.flatMap((name) =>
    [config[name] ?? []].flat().flatMap((address) => {
      if (!isKnownToEveryone(address.trim())) return [];
      return [
        `${name} names ${address}, a wallet of the local network whose key everybody has: WORLD=${config.WORLD} needs another`,
      ];
    }),
  );
}

const addressVariables = [
  'ARWEAVE_ADDRESS',
  'FORMER_ARWEAVE_ADDRESSES',
  'SOLANA_ADDRESS',
  'ETHEREUM_ADDRESS',
  'MATIC_ADDRESS',
  'BASE_ETH_ADDRESS',
  'X402_PAYMENT_ADDRESS',
  'ALLOW_LISTED_ADDRESSES',
] as const satisfies readonly (keyof Config)[];

/** What a template has in the place of what only the operator knows: money sent there is lost. */
function placeholders({ config }: Start): readonly string[] {
  if (config.WORLD === 'local') return [];
  const addresses = addressVariables.flatMap((name) =>
    [config[name] ?? []]
      .flat()
      .flatMap((address) => (isOneDigit.test(address.trim()) ? [{ name, value: address }] : [])),
  );
  const urls = Object.entries(config).flatMap(([name, value]) =>
    textsIn(value).flatMap((text) => (isExampleHost(text) ? [{ name, value: text }] : [])),
  );
  return [...addresses, ...urls].map(
    ({ name, value }) =>
      `${name} has a placeholder, ${showValue(name, value)}: set it to your own, or leave it unset`,
  );
}

const isOneDigit = /^0x([0-9a-f])\1{39}$/i;

/** Of values that are texts, lists of them or named texts. */
function textsIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null
    ? Object.values(value).filter((one) => typeof one === 'string')
    : [];
}

/** Hosts that nobody can have (RFC 2606). */
function isExampleHost(text: string): boolean {
  if (!/^[a-z][a-z0-9+.-]{0,20}:\/\//i.test(text)) return false;
  const host = URL.parse(text)?.hostname ?? '';
  return /(?:^|\.)(?:example|example\.(?:com|net|org))$/.test(host);
}

function folderOfAnotherWorld({ config, folder }: Start): readonly string[] {
  if (folder === undefined || folder === config.WORLD) return [];
  return [
    `DATA_DIR ${config.DATA_DIR} holds credits of WORLD=${folder}: set it to another folder, or WORLD to ${folder} (where that is wrong, its file "world" says which it is)`,
  ];
}

const words: Readonly<Record<Origin, string>> = {
  local: 'a local network',
  testnet: 'a test network',
  public: 'the public network',
  other: 'another network',
};

function whatWasHeard({ config, surfaces, heard }: Start): readonly string[] {
  const { WORLD } = config;
  return heard.flatMap(({ variable, url, origin, says = '' }) => {
    const what = `${variable}: ${showValue(variable, url)}`;
    if (origin === undefined) {
      // Later it may turn out to be anything; where nothing is sold that does no harm.
      if (WORLD !== 'local' || !sellsSomething(config, surfaces)) return [];
      return [
        `${what} does not answer, and WORLD=local uses only what says that it is local: start it first, or leave ${variable} unset`,
      ];
    }
    if (origin === WORLD) return [];
    const other = `${what} is of ${words[origin]} (${says})`;
    if (origin === 'other') return [`${other}: set ${variable} to what it is for`];
    if (WORLD === 'local') return [`${other}: set WORLD to ${origin}, or leave ${variable} unset`];
    return [`${other}: set ${variable} to one of WORLD=${WORLD}, or WORLD to ${origin}`];
  });
}
