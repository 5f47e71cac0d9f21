/**
 * Asks what is configured which world it is of, before anything is started: an Arweave node by its `/info`, a Solana
 * ledger by its version and first block, an EVM node by its chain id, a facilitator and a card provider by the sign that
 * the local ones carry. Bounded in time; who does not answer has said nothing.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Config, ConfigError, type WorldName } from '../../config/config.ts';
import { isRecord, textOf, tryParseJson } from '../../formats/json.ts';
import { findX402Network } from '../../formats/x402/networks.ts';
import { localSign } from '../../localnet/sign.ts';
import { HttpClient } from '../../outside/http.ts';
import { folderWorld } from './folder-world.ts';
import { outside, sellsSomething } from './outside.ts';
import { contradictions, type Heard, type Origin } from './world.ts';

export interface AskTimes {
  /** For one question; a node that is up answers in a fraction of it. */
  readonly askMs: number;
  /** In the world `local` processes of one stack are started together: they wait for each other so long. */
  readonly waitMs: number;
}

const usual: AskTimes = { askMs: 5_000, waitMs: 10_000 };
const pauseMs = 200;
const maxAnswerBytes = 64 * 1024;

/** Refuses a start that mixes worlds with `ConfigError`; nothing is opened, made or written before. */
export async function insistOnOneWorld(
  config: Config,
  surfaces: readonly string[],
  times: AskTimes = usual,
): Promise<void> {
  const folder = folderWorld(config.DATA_DIR);
  const known = { config, surfaces, folder };
  // What can be seen without asking is told at once.
  const problems = contradictions({ ...known, heard: [] });
  if (problems.length === 0) {
    problems.push(...contradictions({ ...known, heard: await askAll(config, surfaces, times) }));
  }
  if (problems.length > 0) throw new ConfigError(problems);
}

interface Question {
  readonly variable: string;
  readonly url: string;
  ask(http: HttpClient, url: string): Promise<Answer>;
}

interface Answer {
  readonly origin: Origin | undefined;
  readonly says?: string;
}

/** What everything outside that these surfaces use says of itself. */
export async function askAll(config: Config, surfaces: readonly string[], times: AskTimes): Promise<Heard[]> {
  const http = new HttpClient({ timeoutMs: times.askMs, maxBytes: maxAnswerBytes });
  // Where a start does not hang on the answer, it is asked for once.
  const waits = config.WORLD === 'local' && sellsSomething(config, surfaces);
  const deadline = performance.now() + (waits ? times.waitMs : 0);
  try {
    return await Promise.all(
      questions(config, surfaces).map(async ({ variable, url, ask }) => {
        for (;;) {
          const answer = await ask(http, url).catch((): Answer => ({ origin: undefined }));
          if (answer.origin !== undefined || performance.now() >= deadline)
            return { variable, url, ...answer };
          await sleep(pauseMs);
        }
      }),
    );
  } finally {
    await http.close();
  }
}

function questions(config: Config, surfaces: readonly string[]): Question[] {
  const { WORLD } = config;
  const asked: Question[] = [];
  if (outside.arweave.isUsed(config, surfaces)) {
    for (const url of config.ARWEAVE_NODE_URLS) {
      asked.push({ variable: 'ARWEAVE_NODE_URLS', url, ask: askArweave });
    }
  }
  // Payments in SOL are taken wherever a node is set, names or not.
  if (outside.solana.isUsed(config, surfaces) || surfaces.includes('payment')) {
    for (const url of config.SOLANA_RPC_URL) asked.push({ variable: 'SOLANA_RPC_URL', url, ask: askSolana });
  }
  if (surfaces.includes('payment')) {
    for (const [variable, address, chains] of [
      ['ETHEREUM_RPC_URL', config.ETHEREUM_ADDRESS, ethereumChains],
      ['MATIC_RPC_URL', config.MATIC_ADDRESS, polygonChains],
      ['BASE_RPC_URL', config.BASE_ETH_ADDRESS, baseChains],
    ] as const) {
      if (address === undefined) continue;
      for (const url of config[variable]) asked.push({ variable, url, ask: askEvm(chains) });
    }
  }
  // Any provider of test money will do in the world `local`, so nobody needs to be asked there.
  if (WORLD !== 'local') {
    const { X402_FACILITATOR_URL, STRIPE_API_URL } = config;
    if (X402_FACILITATOR_URL !== undefined && outside.x402.isUsed(config, surfaces)) {
      const ask = askForSign(WORLD, '/supported');
      asked.push({ variable: 'X402_FACILITATOR_URL', url: X402_FACILITATOR_URL, ask });
    }
    for (const [name, urls] of Object.entries(config.X402_RPC_URLS)) {
      const network = findX402Network(name);
      if (network === undefined || !outside.x402.isUsed(config, surfaces)) continue;
      const chains = network.isTest ? { test: [network.chainId] } : { main: network.chainId, test: [] };
      for (const url of urls.split(',')) asked.push({ variable: 'X402_RPC_URLS', url, ask: askEvm(chains) });
    }
    if (STRIPE_API_URL !== undefined && outside.card.isUsed(config, surfaces)) {
      asked.push({ variable: 'STRIPE_API_URL', url: STRIPE_API_URL, ask: askForSign(WORLD, '/') });
    }
  }
  return asked;
}

async function askArweave(http: HttpClient, url: string): Promise<Answer> {
  const { status, body } = await http.call(`${url}/info`);
  const network = status === 200 ? textOf(tryParseJson(body.toString('utf8')), 'network', 64) : undefined;
  if (network === undefined) return { origin: undefined };
  return { origin: originOfArweave(network), says: `its network is ${network}` };
}

function originOfArweave(network: string): Origin {
  if (/^arweave\.N\.[0-9]+$/.test(network)) return 'public';
  // Also ArLocal's.
  return /^(?:arlocal\.|turnpike\.local$)/.test(network) ? 'local' : 'testnet';
}

const mainnetGenesis = '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d';

async function askSolana(http: HttpClient, url: string): Promise<Answer> {
  const [version, genesis] = await Promise.all([
    askRpc(http, url, 'getVersion'),
    askRpc(http, url, 'getGenesisHash'),
  ]);
  if (typeof genesis !== 'string') return { origin: undefined };
  if (genesis === mainnetGenesis) return { origin: 'public', says: 'it begins as mainnet does' };
  const core = textOf(version, 'solana-core', 64);
  if (core === localSign.solanaVersion) return { origin: 'local', says: `its version is ${core}` };
  return { origin: 'testnet', says: `its first block is ${genesis.slice(0, 64)}` };
}

interface Chains {
  readonly main?: number;
  readonly test: readonly number[];
}
const ethereumChains: Chains = { main: 1, test: [11_155_111, 17_000, 560_048] };
const polygonChains: Chains = { main: 137, test: [80_002] };
const baseChains: Chains = { main: 8_453, test: [84_532] };
/** Of the nodes that developers run for themselves: Hardhat and Anvil, Ganache and Geth. */
const developerChains: readonly number[] = [31_337, 1_337];

const askEvm =
  ({ main, test }: Chains) =>
  async (http: HttpClient, url: string): Promise<Answer> => {
    const answer = await askRpc(http, url, 'eth_chainId');
    if (typeof answer !== 'string' || !/^0x[0-9a-f]{1,12}$/i.test(answer)) return { origin: undefined };
    const id = Number(answer);
    const says = `its chain id is ${id}`;
    if (id === main) return { origin: 'public', says };
    if (test.includes(id)) return { origin: 'testnet', says };
    return { origin: developerChains.includes(id) ? 'local' : 'other', says };
  };

/** Who does not carry the sign is taken for what it is configured as. */
const askForSign =
  (world: WorldName, path: string) =>
  async (http: HttpClient, url: string): Promise<Answer> => {
    const { headers } = await http.call(url + path);
    const sign = headers[localSign.header];
    return sign === undefined
      ? { origin: world }
      : { origin: 'local', says: `it is the ${String(sign).slice(0, 64)}` };
  };

async function askRpc(http: HttpClient, url: string, method: string): Promise<unknown> {
  const { body } = await http.postJson(url, { jsonrpc: '2.0', id: 1, method, params: [] });
  const answer = tryParseJson(body.toString('utf8'));
  return isRecord(answer) ? answer.result : undefined;
}
