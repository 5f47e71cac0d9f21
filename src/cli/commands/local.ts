import { createReadStream, createWriteStream, existsSync, renameSync, rmSync } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Config, readProcessConfig } from '../../config/config.ts';
import { miningModes } from '../../config/variables/arweave.ts';
import { isRecord, textOf, tryParseJson } from '../../formats/json.ts';
import { StartupError } from '../../kernel/errors.ts';
import { HttpClient, readLimited } from '../../outside/http.ts';
import { type Command, printJson, readArguments, UsageError } from '../command.ts';
import { localNetworkClient } from '../local/local-client.ts';
import { reasonOf, type ServiceClient } from '../service-client.ts';

export const local: Command = {
  usage: `turnpike local info               height, clock, mining and snapshots of the local network that runs
turnpike local reset              a fresh network; keys and snapshots stay
turnpike local snapshot [name]    keep the whole state: chains, credits, uploads, index, clock
turnpike local snapshots
turnpike local revert [name]      go back, to the newest unless named; later snapshots are dropped
turnpike local forget <name>
turnpike local clock              what time it is there
turnpike local advance <span>     set its clock forward: 90s, 15m, 2h, 365d, or a date such as 2030-01-31
turnpike local mine [blocks]
turnpike local mining [mode]      ${miningModes.join(', ')}; with --interval <milliseconds>
turnpike local save <file>        everything in one file, with the keys made for it
turnpike local load <file>        in place of what is there

  --url <address>  of another local network than the one of DATA_DIR
  --json           for machines`,
  async run(args) {
    const { values, positionals } = readArguments({
      args,
      options: { url: { type: 'string' }, json: { type: 'boolean' }, interval: { type: 'string' } },
      allowPositionals: true,
    });
    const [name = '', ...rest] = positionals;
    const action = Object.hasOwn(actions, name) ? actions[name] : undefined;
    if (action === undefined) throw new UsageError(`there is no "local ${name}"`);
    const [least, most] = action.parameters;
    if (rest.length < least || rest.length > most) throw new UsageError(`"local ${name}" is said otherwise`);
    if (values.interval !== undefined && name !== 'mining') throw new UsageError('--interval is for mining');
    const config = readProcessConfig();
    const network = new Network(config, values.url);
    const answer = await action.work(network, rest, values.interval);
    if (values.json) printJson(answer ?? {});
    else console.log(action.tell(answer, rest));
    return 0;
  },
};

interface Action {
  /** At least and at most so many arguments. */
  readonly parameters: readonly [number, number];
  readonly work: (
    network: Network,
    args: readonly string[],
    interval: string | undefined,
  ) => Promise<unknown>;
  /** For a person. */
  readonly tell: (answer: unknown, args: readonly string[]) => string;
}

const actions: Readonly<Record<string, Action>> = {
  info: { parameters: [0, 0], work: (network) => network.call('GET', ''), tell: infoText },
  reset: { parameters: [0, 0], work: (network) => network.call('POST', '/reset'), tell: () => 'begun anew' },
  snapshot: {
    parameters: [0, 1],
    work: (network, [name]) => network.call('POST', '/snapshots', name === undefined ? {} : { name }),
    tell: (made) => `snapshot ${snapshotText(made)}`,
  },
  snapshots: {
    parameters: [0, 0],
    work: (network) => network.call('GET', '/snapshots'),
    tell: (all) =>
      Array.isArray(all) && all.length > 0 ? all.map(snapshotText).join('\n') : 'there is none',
  },
  revert: {
    parameters: [0, 1],
    work: (network, [name]) =>
      network.call('POST', name === undefined ? '/revert' : `/snapshots/${encodeURIComponent(name)}/revert`),
    tell: (found) => `back to ${snapshotText(found)}`,
  },
  forget: {
    parameters: [1, 1],
    work: (network, [name = '']) => network.call('DELETE', `/snapshots/${encodeURIComponent(name)}`),
    tell: (_answer, [name]) => `snapshot ${name} is forgotten`,
  },
  clock: { parameters: [0, 0], work: (network) => network.call('GET', '/clock'), tell: clockText },
  advance: {
    parameters: [1, 1],
    work: (network, [span = '']) => network.call('POST', '/clock', parseSpan(span)),
    tell: clockText,
  },
  mine: {
    parameters: [0, 1],
    work: (network, [blocks]) =>
      network.call('POST', '/mine', blocks === undefined ? {} : { blocks: parseCount(blocks) }),
    tell: (answer) => `height ${memberOf(answer, 'height')}`,
  },
  mining: {
    parameters: [0, 1],
    work(network, [mode], interval) {
      if (mode === undefined && interval !== undefined) throw new UsageError('--interval wants a mode');
      if (mode === undefined) return network.call('GET', '/mining');
      const change = { mode, ...(interval !== undefined && { intervalMs: parseCount(interval) }) };
      return network.call('POST', '/mining', change);
    },
    tell: miningText,
  },
  save: {
    parameters: [1, 1],
    work: (network, [file = '']) => network.save(file),
    tell: (_answer, [file]) => `saved to ${file}`,
  },
  load: {
    parameters: [1, 1],
    work: (network, [file = '']) => network.load(file),
    tell: (_answer, [file]) => `loaded ${file}`,
  },
};

/** The control of the local network, asked over HTTP. */
class Network {
  readonly #client: ServiceClient;

  constructor(config: Config, url: string | undefined) {
    this.#client = localNetworkClient(config, url);
  }

  async call(method: 'GET' | 'POST' | 'DELETE', path: string, json?: object): Promise<unknown> {
    const { status, text } = await this.#client.call(`/local${path}`, { method }, json);
    return answerOf(status, text);
  }

  /** Under another name until it is whole; a file that is there is not overwritten. */
  async save(file: string): Promise<unknown> {
    if (existsSync(file)) throw new StartupError(`${file} is there already`);
    const half = `${file}.part`;
    const { status, body } = await this.#open('GET');
    if (status !== 200) return answerOf(status, String(await readLimited(body, 64 * 1024)));
    try {
      await pipeline(Readable.from(body), createWriteStream(half, { mode: 0o600 }));
      renameSync(half, file);
    } finally {
      rmSync(half, { force: true });
    }
    return { file };
  }

  async load(file: string): Promise<unknown> {
    if (!existsSync(file)) throw new StartupError(`there is no file ${file}`);
    const { status, body } = await this.#open('PUT', createReadStream(file));
    return answerOf(status, String(await readLimited(body, 1024 * 1024)));
  }

  /** However large the state is. */
  async #open(method: 'GET' | 'PUT', body?: Readable) {
    const http = new HttpClient({ timeoutMs: stateTimeoutMs, maxBytes: Number.MAX_SAFE_INTEGER });
    const headers = { 'content-type': 'application/vnd.sqlite3' };
    const call = { method, idleTimeoutMs: stateTimeoutMs, ...(body && { body, headers }) };
    return await http.open(`${this.#client.url}/local/state`, call).catch((error: unknown) => {
      throw new StartupError(`no local network answers at ${this.#client.url} (${reasonOf(error)})`);
    });
  }
}

const stateTimeoutMs = 600_000;

function answerOf(status: number, text: string): unknown {
  const answer = tryParseJson(text);
  if (status < 400) return answer;
  if (status === 404 && typeof answer !== 'string') {
    throw new StartupError('what answers there is no local network whose state can be changed');
  }
  throw new StartupError(String(answer ?? text).slice(0, 1_000));
}

const secondsIn: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };

function parseSpan(text: string): object {
  const [, digits, unit = ''] = /^([0-9]+(?:\.[0-9]+)?)([smhd])$/.exec(text) ?? [];
  if (digits !== undefined) return { advance: Number(digits) * (secondsIn[unit] ?? 1) };
  if (!Number.isNaN(Date.parse(text)) && /^[0-9]{4}-/.test(text)) return { to: text };
  throw new UsageError(`a span is 90s, 15m, 2h or 365d, or a date, not "${text}"`);
}

function parseCount(text: string): number {
  if (!/^[1-9][0-9]{0,8}$/.test(text)) throw new UsageError(`"${text}" is no whole number above zero`);
  return Number(text);
}

const memberOf = (answer: unknown, name: string): string =>
  isRecord(answer) ? String(answer[name] ?? '') : '';

const snapshotText = (one: unknown): string =>
  `${textOf(one, 'name') ?? ''}  height ${memberOf(one, 'height')}  ${textOf(one, 'createdAt') ?? ''}`;

function clockText(clock: unknown): string {
  return `${textOf(clock, 'now') ?? ''}, ${memberOf(clock, 'offsetSeconds')} seconds ahead of this machine`;
}

function miningText(mining: unknown): string {
  return `${textOf(mining, 'mode') ?? ''}, every ${memberOf(mining, 'intervalMs')} ms where blocks come by themselves`;
}

function infoText(info: unknown): string {
  if (!isRecord(info)) return '';
  const { snapshots } = info;
  return [
    `height     ${memberOf(info, 'height')}`,
    `clock      ${clockText(info.clock)}`,
    `mining     ${miningText(info.mining)}`,
    `snapshots  ${Array.isArray(snapshots) && snapshots.length > 0 ? snapshots.map((one) => textOf(one, 'name')).join(', ') : 'none'}`,
    `instance   ${memberOf(info, 'instance')}`,
  ].join('\n');
}
