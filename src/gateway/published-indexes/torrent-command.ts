/**
 * Hands the published torrents to an installed BitTorrent program (`INDEX_TORRENT_COMMAND`), which gives them to peers:
 * one run of the command for each torrent, without a shell, ended with the gateway. The gateway itself speaks HTTP only.
 *
 * The program gets copies of the files: it may write to its folder, and must not be able to change what is served under
 * a digest.
 */
import { spawn } from 'node:child_process';
import { constants } from 'node:fs';
import { copyFile, mkdir, readdir, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { childEnvironment } from '../../config/child-environment.ts';
import { torrentName } from '../../formats/torrent/torrent.ts';
import { backoffMs } from '../../kernel/background/backoff.ts';
import { messageOf, StartupError } from '../../kernel/errors.ts';
import type { Logger } from '../../kernel/log.ts';
import { LockHeld, sizeOf, withLock } from './files.ts';
import type { IndexFolders } from './folders.ts';
import type { Catalog } from './publication/catalog.ts';
import type { Band } from './publication/document.ts';

export interface TorrentCommandOptions {
  readonly command: string;
  readonly catalog: Catalog;
  readonly folders: IndexFolders;
  readonly log: Logger;
  /** How soon another publication is followed. */
  readonly refreshMs?: number;
  readonly backoff?: { readonly firstMs: number; readonly longestMs: number };
}

/** Programs at the same time: those of the newest bands. */
const maxPrograms = 64;
/** A program that ran for so long begins anew with the shortest wait. */
const steadyMs = 60_000;
/** Between asking a program to end and ending it. */
const killAfterMs = 5_000;
/** Of what a program prints, its end is kept to say why it failed. */
const maxOutput = 2_048;

/** The program and its arguments; throws `StartupError` where the torrent has no place among them. */
export function torrentWords(command: string): string[] {
  const words = command.split(/\s+/).filter((word) => word !== '');
  if (!words.slice(1).some((word) => word.includes('{torrent}')))
    throw new StartupError('INDEX_TORRENT_COMMAND must be a program and its arguments, {torrent} among them');
  return words;
}

export class TorrentCommand {
  readonly #options: TorrentCommandOptions;
  readonly #refreshMs: number;
  readonly #words: readonly string[];
  readonly #stopped = new AbortController();
  readonly #programs = new Map<string, Program>();
  #running: Promise<void> | undefined;

  constructor(options: TorrentCommandOptions) {
    this.#options = options;
    this.#refreshMs = options.refreshMs ?? 5_000;
    this.#words = torrentWords(options.command);
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** Resolves when no program runs any more. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#running;
  }

  /** Of several processes of a gateway one has the programs; another takes over when it is gone. */
  async #run(): Promise<void> {
    const lock = join(this.#options.folders.seeds, '.lock');
    while (!this.#stopped.signal.aborted) {
      await withLock(lock, () => this.#followPublication(), 0).catch((error: unknown) => {
        if (!(error instanceof LockHeld))
          this.#options.log.warn({ err: error }, 'torrents cannot be handed to the torrent program');
      });
      await this.#pause();
    }
  }

  async #followPublication(): Promise<void> {
    try {
      while (!this.#stopped.signal.aborted) {
        await this.#refresh();
        await this.#pause();
      }
    } finally {
      await Promise.all([...this.#programs.keys()].map((infohash) => this.#end(infohash)));
    }
  }

  async #refresh(): Promise<void> {
    const { catalog, folders, log, backoff = { firstMs: 1_000, longestMs: 300_000 } } = this.#options;
    const published = await catalog.current();
    const newestFirst = [...(published?.torrents ?? [])].sort(([, a], [, b]) => startOf(b) - startOf(a));
    const wanted = new Map(newestFirst.slice(0, maxPrograms));
    for (const infohash of this.#programs.keys()) if (!wanted.has(infohash)) await this.#end(infohash);
    for (const name of await readdir(folders.seeds))
      if (/^[0-9a-f]{40}$/.test(name) && !wanted.has(name))
        await rm(join(folders.seeds, name), { recursive: true, force: true });
    for (const [infohash, band] of wanted) {
      if (this.#programs.has(infohash)) continue;
      const pads = published?.pads.get(torrentName(band.files)) ?? new Set();
      this.#programs.set(
        infohash,
        new Program({ words: this.#words, infohash, band, pads, folders, log, backoff }),
      );
    }
  }

  async #end(infohash: string): Promise<void> {
    await this.#programs.get(infohash)?.stop();
    this.#programs.delete(infohash);
  }

  #pause(): Promise<void> {
    return sleep(this.#refreshMs, undefined, { signal: this.#stopped.signal }).catch(() => {});
  }
}

function startOf({ heightRange }: Band): number {
  return heightRange?.[0] ?? -1;
}

interface ProgramOptions extends Required<Pick<TorrentCommandOptions, 'folders' | 'log' | 'backoff'>> {
  readonly words: readonly string[];
  readonly infohash: string;
  readonly band: Band;
  /** Lengths of padding in the torrent. */
  readonly pads: ReadonlySet<string>;
}

/** The command for one torrent: begun again when it fails; done when it ends well, having handed the torrent over. */
class Program {
  readonly #options: ProgramOptions;
  readonly #stopped = new AbortController();
  readonly #running: Promise<void>;

  constructor(options: ProgramOptions) {
    this.#options = options;
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { infohash, log, backoff, words } = this.#options;
    for (let failures = 0; ; ) {
      const startedAt = performance.now();
      const failure = await this.#runOnce().catch(messageOf);
      if (failure === undefined || this.#stopped.signal.aborted) return;
      failures = performance.now() - startedAt >= steadyMs ? 1 : failures + 1;
      const waitMs = backoffMs(backoff, failures);
      log.warn(
        { program: words[0], infohash, failure, waitMs },
        'the torrent program failed and is run again',
      );
      await sleep(waitMs, undefined, { signal: this.#stopped.signal }).catch(() => {});
      if (this.#stopped.signal.aborted) return;
    }
  }

  /** Why it failed; undefined where it ended well. */
  async #runOnce(): Promise<string | undefined> {
    const { folders, infohash, words } = this.#options;
    const folder = await this.#copyFiles();
    if (this.#stopped.signal.aborted) return undefined;
    const values: Readonly<Record<string, string>> = {
      torrent: join(folders.torrents, `${infohash}.torrent`),
      folder,
      pid: String(process.pid),
    };
    const [program = '', ...args] = words.map((word) =>
      word.replace(/\{(torrent|folder|pid)\}/g, (_, name: string) => values[name] ?? ''),
    );
    return runProgram(program, args, folder, this.#stopped.signal);
  }

  /** What is there from before is kept: the program checks it. */
  async #copyFiles(): Promise<string> {
    const { folders, infohash, band, pads } = this.#options;
    const folder = join(folders.seeds, infohash);
    const files = join(folder, torrentName(band.files));
    await mkdir(join(files, '.pad'), { recursive: true });
    for (const { name, size, sha256 } of band.files) {
      const path = join(files, name);
      if ((await sizeOf(path)) !== size)
        await copyFile(join(folders.blobs, sha256), path, constants.COPYFILE_FICLONE);
    }
    // Programs that do not know padding would look for it elsewhere.
    for (const length of pads) {
      const path = join(files, '.pad', length);
      if ((await sizeOf(path)) === Number(length)) continue;
      await writeFile(path, '');
      await truncate(path, Number(length));
    }
    return folder;
  }
}

/** Runs until it ends or is told to; answers why it failed. */
function runProgram(
  program: string,
  args: readonly string[],
  cwd: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  return new Promise((resolve) => {
    const child = spawn(program, args, { cwd, env: childEnvironment(), stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    const keep = (piece: Buffer) => {
      output = `${output}${piece.toString('utf8')}`.slice(-maxOutput);
    };
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    let killing: NodeJS.Timeout | undefined;
    const end = () => {
      child.kill('SIGTERM');
      killing = setTimeout(() => child.kill('SIGKILL'), killAfterMs);
    };
    const settle = (failure: string | undefined) => {
      clearTimeout(killing);
      signal.removeEventListener('abort', end);
      resolve(failure);
    };
    signal.addEventListener('abort', end);
    if (signal.aborted) end();
    child.on('error', (error) => settle(error.message));
    child.on('exit', (code, killedBy) =>
      settle(code === 0 ? undefined : `ended with ${killedBy ?? `code ${code}`}: ${output.trim()}`),
    );
  });
}
