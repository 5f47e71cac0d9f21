import { resolve } from 'node:path';
import { readProcessConfig } from '../../config/config.ts';
import { memberOf, tryParseJson } from '../../formats/json.ts';
import { HttpClient, readLimited } from '../../outside/http.ts';
import { type Command, printJson, readArguments } from '../command.ts';
import { findProcesses, type RunningProcess } from '../run-file.ts';
import { reasonOf } from '../service-client.ts';
import type { Address } from '../stack.ts';

export const status: Command = {
  usage: `turnpike status [--json]

What runs on DATA_DIR, where it listens and how it is. The exit code is 0 when something runs and all of it is well.`,
  async run(args) {
    const { values } = readArguments({ args, options: { json: { type: 'boolean' } } });
    const { DATA_DIR } = readProcessConfig();
    const { running, gone } = findProcesses(DATA_DIR);
    const processes = await Promise.all(running.map(lookAt));
    const isWell = processes.length > 0 && processes.every(({ parts }) => parts.every(({ ok }) => ok));
    if (values.json) {
      printJson({ running: processes.length > 0, ok: isWell, dataDir: resolve(DATA_DIR), processes, gone });
    } else {
      for (const one of processes) console.log(describe(one));
      if (processes.length === 0) console.log(`nothing runs on ${resolve(DATA_DIR)}: turnpike start`);
      for (const pid of gone) console.log(`process ${pid} is gone and did not stop in order`);
    }
    return isWell ? 0 : 1;
  },
};

interface Part extends Address {
  readonly ok: boolean;
  /** `healthy`, or what is wrong. */
  readonly health: string;
}

interface Looked extends Omit<RunningProcess, 'addresses'> {
  /** Of the local chain; null where none runs in it. */
  readonly height: number | null;
  readonly parts: readonly Part[];
}

/** What each part answers while it is well. */
const healthPaths: Readonly<Record<string, string>> = {
  console: '/api/settings',
  arweave: '/info',
  solana: '/health',
  card: '/v1/',
  x402: '/supported',
  gateway: '/gw/healthcheck',
  payment: '/health',
  upload: '/health',
  router: '/router/ready',
};

const http = new HttpClient({ timeoutMs: 5_000, maxBytes: 256 * 1024 });

async function lookAt({ addresses, ...rest }: RunningProcess): Promise<Looked> {
  const answers = await Promise.all(addresses.map(askHealth));
  const height = answers.find(({ part }) => part.name === 'arweave')?.height ?? null;
  return { ...rest, height, parts: answers.map(({ part }) => part) };
}

async function askHealth(address: Address): Promise<{ part: Part; height: number | undefined }> {
  const { name, url } = address;
  try {
    const answer = await http.open(`${url}${healthPaths[name] ?? '/'}`, { idleTimeoutMs: 5_000 });
    const body = tryParseJson(String(await readLimited(answer.body, 256 * 1024)));
    const height = memberOf(body, 'height');
    // The card provider has no route for it: any answer but a failure shows that it runs.
    const ok = answer.status < 400 || (name === 'card' && answer.status < 500);
    return {
      part: { ...address, ok, health: ok ? 'healthy' : unwell(answer.status, body) },
      height: name === 'arweave' && typeof height === 'number' ? height : undefined,
    };
  } catch (error) {
    return { part: { ...address, ok: false, health: `no answer (${reasonOf(error)})` }, height: undefined };
  }
}

function unwell(status: number, body: unknown): string {
  const reasons = memberOf(body, 'reasons');
  const told = Array.isArray(reasons) ? reasons.map(String).join('; ') : memberOf(body, 'reason');
  return typeof told === 'string' && told !== '' ? told : `answers ${status}`;
}

function describe({ pid, version, world, dataDir, startedAt, height, parts }: Looked): string {
  const width = (values: readonly string[]) => Math.max(...values.map((value) => value.length));
  const names = width(parts.map(({ name }) => name));
  const urls = width(parts.map(({ url }) => url));
  const rows = parts.map(
    ({ name, url, health }) => `  ${name.padEnd(names)}  ${url.padEnd(urls)}  ${health}`,
  );
  const chain = height === null ? '' : `, local chain at height ${height}`;
  return [
    `Turnpike ${version} runs in the world ${world}${chain} (process ${pid}, since ${startedAt})`,
    `data and keys are in ${dataDir}`,
    '',
    ...rows,
    '',
  ].join('\n');
}
