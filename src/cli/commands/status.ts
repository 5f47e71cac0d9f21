import { resolve } from 'node:path';
import { readProcessConfig } from '../../config/config.ts';
import { memberOf, tryParseJson } from '../../formats/json.ts';
import { HttpClient, readLimited } from '../../outside/http.ts';
import { type Command, printJson, readArguments } from '../command.ts';
import { reasonsIn, strictHealthPaths } from '../health-answers.ts';
import { findProcesses, type RunningProcess } from '../run-file.ts';
import { reasonOf } from '../service-client.ts';
import type { Address } from '../stack.ts';

export const status: Command = {
  usage: `turnpike status [--json]

What runs on DATA_DIR, where it listens and how it is. The exit code is 0 when something runs and all of it
serves, as it is asked by probes. What is wrong all the same, such as no node or a wallet that runs dry, follows "but:".`,
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
  /** `healthy`, or why it does not serve. */
  readonly health: string;
  /** What is wrong although it serves. */
  readonly but: readonly string[];
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
    const [{ status, text }, but] = await Promise.all([
      ask(`${url}${healthPaths[name] ?? '/'}`),
      complaints(address),
    ]);
    const height = memberOf(tryParseJson(text), 'height');
    // The card provider has no route for it: any answer but a failure shows that it runs.
    const ok = status < 400 || (name === 'card' && status < 500);
    const health = ok ? 'healthy' : reasonsIn(text).join('; ') || `answers ${status}`;
    return {
      part: { ...address, ok, health, but: ok ? but : [] },
      height: name === 'arweave' && typeof height === 'number' ? height : undefined,
    };
  } catch (error) {
    const health = `no answer (${reasonOf(error)})`;
    return { part: { ...address, ok: false, health, but: [] }, height: undefined };
  }
}

async function complaints({ name, url }: Address): Promise<string[]> {
  const paths: Readonly<Record<string, string>> = strictHealthPaths;
  const path = paths[name];
  if (path === undefined) return [];
  try {
    const { status, text } = await ask(`${url}${path}`);
    return status < 400 ? [] : reasonsIn(text);
  } catch (error) {
    return [`what may be wrong is not told (${reasonOf(error)})`];
  }
}

async function ask(url: string): Promise<{ readonly status: number; readonly text: string }> {
  const { status, body } = await http.open(url, { idleTimeoutMs: 5_000 });
  return { status, text: String(await readLimited(body, 256 * 1024)) };
}

function describe({ pid, version, world, dataDir, startedAt, height, parts }: Looked): string {
  const width = (values: readonly string[]) => Math.max(...values.map((value) => value.length));
  const names = width(parts.map(({ name }) => name));
  const urls = width(parts.map(({ url }) => url));
  const rows = parts.flatMap(({ name, url, health, but }) => [
    `  ${name.padEnd(names)}  ${url.padEnd(urls)}  ${health}`,
    ...but.map((reason) => `  ${''.padEnd(names)}  but: ${reason}`),
  ]);
  const chain = height === null ? '' : `, local chain at height ${height}`;
  return [
    `Turnpike ${version} runs in the world ${world}${chain} (process ${pid}, since ${startedAt})`,
    `data and keys are in ${dataDir}`,
    '',
    ...rows,
    '',
  ].join('\n');
}
