/**
 * What runs on a data folder, for commands that look for it: `DATA_DIR/run/<process id>.json`, written when a start is
 * done and removed when it ends. A process that was killed leaves its file behind, and nobody holds the lock beside it.
 */
import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Config } from '../config/config.ts';
import { isRecord, tryParseJson } from '../formats/json.ts';
import { makeFolder } from '../kernel/files.ts';
import type { Logger } from '../kernel/log.ts';
import type { Surface } from '../kernel/part.ts';
import { privateFileMode, privateFolderMode } from '../kernel/private-files.ts';
import { type Hold, holdAlone, isHeld } from '../localnet/hold-alone.ts';
import type { Address } from './stack.ts';
import { version } from './version.ts';

export interface RunningProcess {
  readonly pid: number;
  readonly version: string;
  readonly world: string;
  readonly dataDir: string;
  /** ISO. */
  readonly startedAt: string;
  readonly addresses: readonly Address[];
}

const folderOf = (dataDir: string): string => join(dataDir, 'run');
const fileName = /^([0-9]{1,10})\.json$/;

/** The last to start and the first to stop: the file is there while everything runs. */
export function runFile(
  config: Pick<Config, 'DATA_DIR' | 'WORLD'>,
  addresses: () => Address[],
  log?: Pick<Logger, 'warn'>,
): Surface {
  const path = join(folderOf(config.DATA_DIR), `${process.pid}.json`);
  let hold: Hold | undefined;
  const remove = () => {
    removeFile(path);
    hold?.release();
    hold = undefined;
  };
  return {
    name: 'run file',
    url: '',
    async start() {
      const running: RunningProcess = {
        pid: process.pid,
        version,
        world: config.WORLD,
        dataDir: resolve(config.DATA_DIR),
        startedAt: new Date().toISOString(),
        addresses: addresses(),
      };
      makeFolder(resolve(folderOf(config.DATA_DIR)), privateFolderMode);
      for (const { file } of filesIn(config.DATA_DIR).filter((one) => !isHeld(one.file))) removeFile(file);
      try {
        hold = holdAlone(path, 'Turnpike');
        writeFileSync(`${path}.new`, `${JSON.stringify(running)}\n`, { mode: privateFileMode });
        renameSync(`${path}.new`, path);
      } catch (error) {
        // What runs serves on a full disk too; commands have to be told where it is.
        log?.warn({ err: error }, 'what runs here could not be written down: commands need --url');
        remove();
      }
    },
    async drain() {
      remove();
      return true;
    },
    async stop() {
      remove();
    },
  };
}

export interface FoundProcesses {
  /** Oldest first. */
  readonly running: readonly RunningProcess[];
  /** Ids of processes that left their file and are gone. */
  readonly gone: readonly number[];
}

export function findProcesses(dataDir: string): FoundProcesses {
  const files = filesIn(dataDir);
  const held = files.filter(({ file }) => isHeld(file));
  const running = held.flatMap(({ file }) => readRunning(file) ?? []);
  return {
    running: running.sort((one, other) => (one.startedAt < other.startedAt ? -1 : 1)),
    gone: files.filter((one) => !held.includes(one)).map(({ pid }) => pid),
  };
}

/** Where a part runs that a process on this folder started. */
export function findAddress(dataDir: string, name: string): string | undefined {
  const addresses = findProcesses(dataDir).running.flatMap((one) => one.addresses);
  return addresses.findLast((address) => address.name === name)?.url;
}

function filesIn(dataDir: string): { readonly file: string; readonly pid: number }[] {
  try {
    return readdirSync(folderOf(dataDir)).flatMap((name) => {
      const pid = fileName.exec(name)?.[1];
      return pid === undefined ? [] : [{ file: join(folderOf(dataDir), name), pid: Number(pid) }];
    });
  } catch {
    return [];
  }
}

function removeFile(file: string): void {
  rmSync(file, { force: true });
  rmSync(`${file}.lock`, { force: true });
}

function readRunning(path: string): RunningProcess | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
  const value = tryParseJson(text);
  if (!isRecord(value) || !Array.isArray(value.addresses)) return undefined;
  return {
    pid: Number(value.pid),
    version: String(value.version),
    world: String(value.world),
    dataDir: String(value.dataDir),
    startedAt: String(value.startedAt),
    addresses: value.addresses.filter(isRecord).map((one) => ({
      name: String(one.name),
      url: String(one.url),
      what: String(one.what),
    })),
  };
}
