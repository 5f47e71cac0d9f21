/** What `turnpike mcp` is told on its command line: services, keys, limits, files. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../../config/config.ts';
import type { Logger } from '../../kernel/log.ts';
import { privateFolderMode } from '../../kernel/private-files.ts';
import { UsageError } from '../command.ts';
import { readOwnerKey } from '../names/owner-key.ts';
import { findKey, type OwnerKey, type PersonKey, parseKey } from '../person-key.ts';
import { serviceUrl } from '../service-url.ts';
import { howToGetMore } from '../upload/explain-credits.ts';
import { AllowedFiles } from './allowed-files.ts';
import type { McpDeps } from './server.ts';
import { type Limits, Spending, type SpendingLimits } from './spending.ts';

/** As `parseArgs` takes them. */
export const mcpOptions = {
  wallet: { type: 'string' },
  owner: { type: 'string' },
  limit: { type: 'string' },
  'call-limit': { type: 'string' },
  'day-limit': { type: 'string' },
  'x402-limit': { type: 'string' },
  folder: { type: 'string' },
  'dry-run': { type: 'boolean' },
  'upload-url': { type: 'string' },
  'payment-url': { type: 'string' },
  'gateway-url': { type: 'string' },
} as const;

type McpValues = {
  readonly [option in keyof typeof mcpOptions]?:
    | ((typeof mcpOptions)[option]['type'] extends 'boolean' ? boolean : string)
    | undefined;
};

/** The caller closes `spending`. */
export async function openMcp(values: McpValues, config: Config, log: Logger): Promise<McpDeps> {
  const key = await keyOf(values.wallet, config);
  const limit = wincOf('--limit', values.limit) ?? 0n;
  const limits: Limits = {
    session: limit,
    call: wincOf('--call-limit', values['call-limit']) ?? limit,
    day: wincOf('--day-limit', values['day-limit']) ?? limit,
  };
  const usdc = usdcOf(values['x402-limit']);
  if (usdc > 0n && key?.kind !== 'ethereum') throw new UsageError('--x402-limit needs an Ethereum key');
  const payment = serviceUrl(config, 'payment', values['payment-url']);
  const secrets = [values.wallet, values.owner].flatMap((path) => path ?? []);
  return {
    urls: {
      payment,
      upload: serviceUrl(config, 'upload', values['upload-url']),
      gateway: serviceUrl(config, 'gateway', values['gateway-url']),
    },
    key,
    owner: ownerOf(values.owner, config, key),
    files: new AllowedFiles(values.folder, secrets),
    dryRun: values['dry-run'] === true,
    howToGetMore: (address) => howToGetMore(config, address, payment),
    spending:
      key &&
      (await openSpending(config, key, { winc: limits, usdc: { call: usdc, session: usdc, day: usdc } })),
    log,
  };
}

/** Undefined where none is given: nobody is asked, standard input belongs to the protocol. */
async function keyOf(file: string | undefined, config: Config): Promise<PersonKey | undefined> {
  if (file === undefined && config.TURNPIKE_WALLET === undefined) return undefined;
  return findKey({ file, inEnvironment: config.TURNPIKE_WALLET });
}

function ownerOf(file: string | undefined, config: Config, key: PersonKey | undefined): OwnerKey | undefined {
  if (file !== undefined) return readOwnerKey(file);
  if (config.TURNPIKE_OWNER !== undefined) return parseKey(config.TURNPIKE_OWNER, 'in TURNPIKE_OWNER').owner;
  return key?.owner;
}

async function openSpending(config: Config, key: PersonKey, limits: SpendingLimits): Promise<Spending> {
  const folder = join(config.DATA_DIR, 'mcp');
  await mkdir(folder, { recursive: true, mode: privateFolderMode });
  return Spending.open(join(folder, 'spending.db'), key.address, limits);
}

function wincOf(option: string, text: string | undefined): bigint | undefined {
  if (text === undefined) return undefined;
  if (!/^[0-9]{1,30}$/.test(text)) throw new UsageError(`${option} is a number of winc, not "${text}"`);
  return BigInt(text);
}

/** Dollars with up to six decimals, in millionths. */
function usdcOf(text: string | undefined): bigint {
  if (text === undefined) return 0n;
  const [, whole = '', decimals = ''] = /^([0-9]{1,9})(?:\.([0-9]{1,6}))?$/.exec(text) ?? [];
  if (whole === '') throw new UsageError(`--x402-limit is an amount in dollars as 1.50, not "${text}"`);
  return BigInt(whole + decimals.padEnd(6, '0'));
}
