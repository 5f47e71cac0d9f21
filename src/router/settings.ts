/** The configuration as the router uses it, with what is wrong only in combination found before anything starts. */
import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import { asciiLowerCase } from '../formats/ascii-case.ts';
import { isTxId } from '../formats/base64url.ts';
import { StartupError } from '../kernel/errors.ts';
import { atLeast, type GatewayList, peersList, registryList, staticList } from './gateways/sources.ts';

export interface RouterSettings {
  readonly config: Config;
  /** Lower case, without port. */
  readonly baseDomain: string;
  /** `:8443` where the domain was given with a port; undefined where it was not. */
  readonly basePort: string | undefined;
  readonly rootContent: string | undefined;
  readonly cachePath: string;
  readonly telemetryPath: string;
  readonly blocklistPath: string;
  readonly routing: GatewayList;
  readonly verification: GatewayList;
  /** How many verification gateways must agree on a name. */
  readonly consensusThreshold: number;
}

/** Gateways are asked at their origin; a path or a password would be left out without a word. */
const gatewayVariables = [
  'ROUTING_STATIC_GATEWAYS',
  'VERIFICATION_STATIC_GATEWAYS',
  'NETWORK_FALLBACK_GATEWAYS',
  'TRUSTED_PEER_GATEWAY',
  'ARWEAVE_READ_NODES',
] as const;
const domain = /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/;
const label = /^[a-z0-9_-]{1,63}$/;

export function routerSettings(config: Config, localGatewayUrl: () => string | undefined): RouterSettings {
  const problems: string[] = [];
  const baseDomain = asciiLowerCase(config.BASE_DOMAIN)
    .replace(/:[0-9]+$/, '')
    .replace(/\.$/, '');
  if (!domain.test(baseDomain)) problems.push('BASE_DOMAIN must be a domain');
  const rootContent = config.ROOT_HOST_CONTENT;
  const root = rootContent === undefined || isTxId(rootContent) ? rootContent : asciiLowerCase(rootContent);
  if (root !== undefined && !isTxId(root) && !label.test(root)) {
    problems.push('ROOT_HOST_CONTENT must be a name or an id');
  }
  if (config.RESTRICT_TO_ROOT_HOST && root === undefined) {
    problems.push('RESTRICT_TO_ROOT_HOST needs ROOT_HOST_CONTENT');
  }
  for (const name of gatewayVariables) {
    for (const url of [config[name] ?? []].flat()) {
      const { pathname, search, username } = new URL(url);
      if (pathname !== '/' || search !== '' || username !== '') {
        problems.push(
          `${name} must name gateways by scheme, host and port only, not ${new URL(url).origin}…`,
        );
      }
    }
  }
  const { ROUTING_GATEWAY_SOURCE: source, VERIFICATION_GATEWAY_SOURCE: verifiers } = config;
  if (source === 'trusted-peers' && config.TRUSTED_PEER_GATEWAY === undefined) {
    problems.push('ROUTING_GATEWAY_SOURCE=trusted-peers needs TRUSTED_PEER_GATEWAY');
  }
  const needsRegistry = source === 'network' || (config.VERIFICATION_ENABLED && verifiers === 'top-staked');
  if (needsRegistry && config.NETWORK_REGISTRY_URL === undefined) {
    problems.push(
      'ROUTING_GATEWAY_SOURCE=network and VERIFICATION_GATEWAY_SOURCE=top-staked need NETWORK_REGISTRY_URL',
    );
  }
  const threshold = config.ARNS_CONSENSUS_THRESHOLD;
  const { VERIFICATION_STATIC_GATEWAYS: own, ROUTING_STATIC_GATEWAYS: routing } = config;
  const named = own.length > 0 ? own.length : Math.max(1, routing.length);
  const asked = verifiers === 'top-staked' ? config.VERIFICATION_GATEWAY_COUNT : named;
  // One gateway can only agree with itself; that is the smallest installation and works, with a warning.
  if (asked > 1 && threshold > asked) {
    problems.push(
      `ARNS_CONSENSUS_THRESHOLD is ${threshold}, but only ${asked} verification gateways are asked`,
    );
  }
  if (config.RATE_LIMIT_ENABLED && config.RATE_LIMIT_MAX_REQUESTS < 1) {
    problems.push('RATE_LIMIT_MAX_REQUESTS must be at least 1');
  }
  if (problems.length > 0) throw new StartupError(problems.join('\n'));
  return {
    config,
    baseDomain,
    basePort: /:[0-9]+$/.exec(config.BASE_DOMAIN)?.[0],
    rootContent: root,
    cachePath: config.CONTENT_CACHE_PATH ?? join(config.DATA_DIR, 'content-cache'),
    telemetryPath: config.TELEMETRY_DB_PATH ?? join(config.DATA_DIR, 'telemetry.db'),
    blocklistPath: config.MODERATION_BLOCKLIST_PATH ?? join(config.DATA_DIR, 'blocklist.json'),
    routing: routingList(config, localGatewayUrl),
    verification: verificationList(config, localGatewayUrl),
    consensusThreshold: asked === 1 ? 1 : threshold,
  };
}

function routingList(config: Config, localGatewayUrl: () => string | undefined): GatewayList {
  const fallback = config.NETWORK_FALLBACK_GATEWAYS.map((url) => new URL(url).origin);
  const { ROUTING_GATEWAY_SOURCE, TRUSTED_PEER_GATEWAY, NETWORK_REGISTRY_URL } = config;
  const minimum = config.NETWORK_MIN_GATEWAYS;
  if (ROUTING_GATEWAY_SOURCE === 'trusted-peers' && TRUSTED_PEER_GATEWAY !== undefined) {
    return atLeast(minimum, peersList(TRUSTED_PEER_GATEWAY, fallback));
  }
  if (ROUTING_GATEWAY_SOURCE === 'network' && NETWORK_REGISTRY_URL !== undefined) {
    return atLeast(minimum, registryList(NETWORK_REGISTRY_URL, fallback));
  }
  return staticList(() => staticGateways(config, localGatewayUrl));
}

function verificationList(config: Config, localGatewayUrl: () => string | undefined): GatewayList {
  const { VERIFICATION_STATIC_GATEWAYS: own, NETWORK_REGISTRY_URL } = config;
  if (config.VERIFICATION_GATEWAY_SOURCE === 'top-staked' && NETWORK_REGISTRY_URL !== undefined) {
    const count = config.VERIFICATION_GATEWAY_COUNT;
    const fallback = own.map((url) => new URL(url).origin);
    const minimum = Math.min(count, config.NETWORK_MIN_GATEWAYS);
    return atLeast(minimum, registryList(NETWORK_REGISTRY_URL, fallback, count));
  }
  return staticList(() => (own.length > 0 ? own : staticGateways(config, localGatewayUrl)));
}

function staticGateways(config: Config, localGatewayUrl: () => string | undefined): readonly string[] {
  const { ROUTING_STATIC_GATEWAYS: own } = config;
  const local = localGatewayUrl();
  return own.length > 0 || local === undefined ? own : [local];
}
