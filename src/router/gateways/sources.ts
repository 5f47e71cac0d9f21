/**
 * Where lists of gateways come from. Lists that others write are not trusted with addresses inside our own
 * network: only what the operator names may be there.
 */
import { isRecord, memberOf, tryParseJson } from '../../formats/json.ts';
import { isPublicHost } from '../../kernel/http/public-addresses.ts';
import { HttpClient } from '../../outside/http.ts';

export interface GatewayList {
  /** For `/router/info`. */
  readonly source: string;
  /** Whether it may change while the router runs. */
  readonly changes: boolean;
  /** Whether others wrote it, who may not send us to addresses inside. */
  readonly foreign: boolean;
  /** Used until the list could be read for the first time; the operator's. */
  readonly fallback: readonly string[];
  /** Origins, best first. */
  read(): Promise<readonly string[]>;
}

const listLimit = 8 * 1024 * 1024;
const timeoutMs = 10_000;

/** What the operator wrote, or what the stack made known by the time the router starts. */
export function staticList(urls: () => readonly string[]): GatewayList {
  return {
    source: 'static',
    changes: false,
    foreign: false,
    fallback: [],
    async read() {
      return urls().map((url) => new URL(url).origin);
    },
  };
}

/** The peers that another gateway knows of: `GET /ar-io/peers`, an object `gateways` with a `url` each. */
export function peersList(peer: string, fallback: readonly string[]): GatewayList {
  return {
    source: 'trusted-peers',
    changes: true,
    foreign: true,
    fallback,
    async read() {
      const document = await readJson(`${peer}/ar-io/peers`);
      const gateways = memberOf(document, 'gateways');
      const urls = Object.values(isRecord(gateways) ? gateways : {}).flatMap(
        (one) => memberOf(one, 'url') ?? [],
      );
      return usable(urls, `${peer}/ar-io/peers`);
    },
  };
}

/**
 * The gateway registry: `{items: [{status, settings: {fqdn, port, protocol}, operatorStake,
 * totalDelegatedStake}]}`, those that joined, by stake. `count` takes the first only.
 */
export function registryList(url: string, fallback: readonly string[], count?: number): GatewayList {
  return {
    source: count === undefined ? 'network' : 'top-staked',
    changes: true,
    foreign: true,
    fallback,
    async read() {
      const document = await readJson(url);
      const items = Array.isArray(document) ? document : memberOf(document, 'items');
      const joined = (Array.isArray(items) ? items : [])
        .filter((item) => memberOf(item, 'status') === 'joined')
        .map((item) => ({ url: registeredUrl(memberOf(item, 'settings')), stake: stakeOf(item) }))
        .sort((a, b) => (a.stake > b.stake ? -1 : a.stake < b.stake ? 1 : 0));
      const urls = usable(
        joined.flatMap((one) => one.url ?? []),
        url,
      );
      return count === undefined ? urls : urls.slice(0, count);
    },
  };
}

/** The same list, not believed where it names fewer: a list that shrinks so far is more likely to be damaged. */
export function atLeast(minimum: number, list: GatewayList): GatewayList {
  return {
    ...list,
    async read() {
      const origins = await list.read();
      if (origins.length >= minimum) return origins;
      throw new Error(`the list names ${origins.length} gateways, fewer than the ${minimum} it must`);
    },
  };
}

function registeredUrl(settings: unknown): string | undefined {
  const fqdn = memberOf(settings, 'fqdn');
  const port = memberOf(settings, 'port') ?? 443;
  const protocol = memberOf(settings, 'protocol') ?? 'https';
  return typeof fqdn === 'string' ? `${String(protocol)}://${fqdn}:${String(port)}` : undefined;
}

function stakeOf(item: unknown): bigint {
  let stake = 0n;
  for (const name of ['operatorStake', 'totalDelegatedStake']) {
    const value = String(memberOf(item, name) ?? '0');
    if (/^[0-9]{1,30}$/.test(value)) stake += BigInt(value);
  }
  return stake;
}

function usable(urls: readonly unknown[], source: string): string[] {
  const origins = urls.flatMap((url) => {
    if (typeof url !== 'string' || !URL.canParse(url)) return [];
    const { protocol, hostname, origin } = new URL(url);
    const isWeb = protocol === 'https:' || protocol === 'http:';
    return isWeb && isPublicHost(hostname) ? [origin] : [];
  });
  if (origins.length === 0) throw new Error(`${shown(source)} names no gateway that can be used`);
  return origins;
}

async function readJson(url: string): Promise<unknown> {
  const client = new HttpClient({ timeoutMs, maxBytes: listLimit });
  try {
    const { status, body } = await client.call(url);
    if (status !== 200) throw new Error(`${shown(url)} answered ${status}`);
    return tryParseJson(body.toString('utf8'));
  } finally {
    await client.close();
  }
}

/** Anybody reads in `/router/health` why a list cannot be read: the rest of its address may be a key. */
function shown(url: string): string {
  return new URL(url).origin;
}
