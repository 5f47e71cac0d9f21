/**
 * What may not be served. Asked at every hop of a request (name, what it points at, manifest, file in it), so it
 * answers from memory. The list is in the router's database, and holds in every process that shares it: a change is
 * stored before it counts, processes of one start hear of it at once, others within a second. While the database cannot
 * be read the list stays as it was.
 *
 * A file in the data folder shows the list. It may be changed by hand or replaced, which counts as changes of the list;
 * a bad one changes nothing.
 */
import { hash } from 'node:crypto';
import { mkdir, readFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { BlockSet } from '../../delivery/moderation/block-set.ts';
import type { Actor, AuditLog } from '../../kernel/audit-log.ts';
import { createJob, type Job } from '../../kernel/background/job.ts';
import { hasCode, messageOf, StartupError } from '../../kernel/errors.ts';
import { writeFileDurably } from '../../kernel/files.ts';
import type { Logger } from '../../kernel/log.ts';
import type { Part } from '../../kernel/part.ts';
import { fellows, hear } from '../../kernel/workers/fellows.ts';
import { DatabaseUnavailable, type Sql } from '../../storage/sql/sql.ts';
import { BlockStore, keyOf, type StoredList } from './block-store.ts';
import {
  type BlockEntry,
  type BlockType,
  blocklistText,
  type EntryPlace,
  idOf,
  parseBlocklist,
} from './entries.ts';
import { watchFile } from './watch-file.ts';

const fileLimit = 64 * 1024 * 1024;
/** Of a file with more changes than this the audit log has the number, and the list itself the rest. */
const maxReloadLines = 1_000;
/** What was changed by hand, on the disk. */
const byHand: Actor = { who: 'file', via: 'file' };
const pollMs = 1_000;
const topic = 'router blocklist';

export interface BlocklistOptions {
  readonly path: string;
  /** Names the data folder that the file is in, for as long as there is one. */
  readonly folder: string;
  readonly sql: Sql;
  readonly audit: AuditLog;
  readonly log: Logger;
}

export class Blocklist extends BlockSet implements Part {
  readonly name = 'moderation';
  readonly path: string;
  readonly jobs: readonly Job[];
  readonly #options: BlocklistOptions;
  /** The file among those of all folders. */
  readonly #file: string;
  readonly #store: BlockStore;
  #entries = new Map<string, BlockEntry>();
  #list: Pick<StoredList, 'version' | 'updatedAt'> = { version: -1, updatedAt: '' };
  #changes: Promise<unknown> = Promise.resolve();
  /** The list was changed here, and the others have not heard of it. */
  #untold = false;
  #unwatch: (() => void) | undefined;
  #unhear: (() => void) | undefined;
  /** Why the file is not what is enforced. */
  problem: string | undefined;
  /** Why it is not known whether others changed the list. */
  #unread: string | undefined;
  /** The file was not followed, or does not show the list, because the database was away. */
  #isFileOwed = false;
  failedReloads = 0;
  /** Called with ids that another process, or a hand, has blocked. */
  onOthers: (ids: readonly string[]) => void = () => {};

  constructor(options: BlocklistOptions) {
    super();
    this.#options = options;
    this.path = options.path;
    this.#store = new BlockStore(options.sql);
    this.#file = `${options.folder} ${options.path}`;
    const { log } = options;
    this.jobs = [createJob({ name: 'read the blocklist', everyMs: pollMs, log, run: () => this.#poll() })];
  }

  /** A list that cannot be read at start is fatal: serving what should be blocked is worse than not serving. */
  async start(): Promise<void> {
    try {
      await mkdir(dirname(this.path), { recursive: true });
      this.#adopt(await this.#store.load());
      const text = await this.#readFile();
      if (text !== undefined) await this.#follow(text, byHand);
      await this.#show();
    } catch (error) {
      throw new StartupError(`MODERATION_BLOCKLIST_PATH ${this.path}: ${messageOf(error)}`, {
        cause: error,
      });
    }
    this.#unwatch = watchFile(this.path, () => void this.reload(byHand).catch(() => {}));
    this.#unhear = hear(topic, () => this.#poll());
  }

  async stop(): Promise<void> {
    this.#unwatch?.();
    this.#unhear?.();
    await this.#changes;
  }

  problems(): readonly string[] {
    return [this.problem, this.#unread].flatMap((one) => (one === undefined ? [] : [`blocklist: ${one}`]));
  }

  find(type: BlockType, value: string): BlockEntry | undefined {
    return this.#entries.get(keyOf({ type, value }));
  }

  entries(type?: BlockType): BlockEntry[] {
    return [...this.#entries.values()].filter((entry) => type === undefined || entry.type === type);
  }

  stats() {
    return {
      totalEntries: this.#entries.size,
      arnsCount: this.names.size,
      /** Ids that are blocked by themselves or through a name. */
      txIdCount: this.ids.size,
      lastUpdated: this.#list.updatedAt === '' ? null : this.#list.updatedAt,
      filePath: this.path,
    };
  }

  /** Adds an entry, or what is new about one. True when anything changed. */
  block(entry: BlockEntry, actor: Actor): Promise<boolean> {
    return this.#change(async () => {
      await this.#followFile();
      const done = await this.#store.block(entry).catch(this.#recordFailure(actor, 'block', entry));
      if (done !== 'completed')
        await this.#record(actor, 'block', entry, done === 'added' ? 'done' : 'no change');
      if (done !== 'known') await this.#changed();
      return done !== 'known';
    });
  }

  /** The entry that was removed; undefined when there was none. */
  unblock(type: BlockType, value: string, actor: Actor): Promise<BlockEntry | undefined> {
    return this.#change(async () => {
      await this.#followFile();
      const entry = await this.#store
        .unblock(type, value)
        .catch(this.#recordFailure(actor, 'unblock', { type, value }));
      await this.#record(actor, 'unblock', { type, value }, entry === undefined ? 'no change' : 'done');
      if (entry !== undefined) await this.#changed();
      return entry;
    });
  }

  /** Blocked ids of which it is not known where they lie. */
  unplaced(): string[] {
    return [...this.#entries.values()].flatMap((entry) =>
      entry.place === undefined ? (idOf(entry) ?? []) : [],
    );
  }

  /** Keeps with its entries where an id lies. */
  place(id: string, place: EntryPlace): Promise<void> {
    return this.#change(async () => {
      await this.#followFile();
      if (await this.#store.place(id, place)) await this.#changed('unless it is being mended');
    });
  }

  /** Reads the file again. One that is wrong changes nothing and is an error. */
  reload(actor: Actor): Promise<void> {
    return this.#change(async () => {
      try {
        const text = await this.#readFile();
        if (text === undefined) throw new Error('the file is gone');
        await this.#follow(text, actor);
        this.problem = undefined;
      } catch (error) {
        if (this.problem === undefined) {
          await this.#options.audit.record({
            ...actor,
            action: 'reload',
            result: `failed: ${messageOf(error)}`,
          });
        }
        this.problem = messageOf(error);
        this.#isFileOwed ||= error instanceof DatabaseUnavailable;
        this.failedReloads += 1;
        this.#options.log.error(
          { err: error },
          'the blocklist cannot be read: the last good one stays in force',
        );
        throw error;
      }
    });
  }

  /** One change at a time, each whole; then the others hear of it. */
  async #change<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await this.#inTurn(work);
    } finally {
      // After its turn: two that tell each other at the same time must not wait for one another.
      if (this.#untold) {
        this.#untold = false;
        await fellows()?.tell(topic, this.#list.version);
      }
    }
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#changes.then(work);
    this.#changes = done.catch(() => {});
    return done;
  }

  /** Reads the list where another process changed it. */
  async #poll(): Promise<void> {
    try {
      const isNew = (await this.#store.version()) !== this.#list.version;
      this.#unread = undefined;
      if (isNew) await this.#inTurn(() => this.#learn());
      if (this.#isFileOwed) await this.#followAgain();
    } catch (error) {
      this.#unread = `the database does not answer: ${messageOf(error)}`;
      throw error;
    }
  }

  /** What was written by hand while the database was away counts from now on, and what was changed is shown. */
  async #followAgain(): Promise<void> {
    this.#isFileOwed = false;
    try {
      await this.reload(byHand);
      await this.#inTurn(() => this.#show('unless it is being mended'));
    } catch {
      // It is owed again, or the file is wrong, which was told when it was read.
    }
  }

  async #learn(): Promise<void> {
    const before = this.ids;
    this.#adopt(await this.#store.load());
    const fresh = [...this.ids].filter((id) => !before.has(id));
    if (fresh.length > 0) this.onOthers(fresh);
    await this.#show('unless it is being mended');
  }

  /** After a change of our own: it counts here, then the file shows it. */
  async #changed(file: 'anyway' | 'unless it is being mended' = 'anyway'): Promise<void> {
    this.#adopt(await this.#store.load());
    this.#untold = true;
    await this.#show(file);
  }

  /** What was just written by hand is part of what is written next; a file that is wrong is not. */
  async #followFile(): Promise<void> {
    try {
      const text = await this.#readFile();
      if (text !== undefined) await this.#follow(text, byHand);
    } catch (error) {
      // It may be right: it is not written over.
      if (error instanceof DatabaseUnavailable) throw error;
      this.#options.log.warn(
        { err: error },
        'a blocklist that cannot be read is replaced by the one in force',
      );
    }
  }

  /** A text that another hand wrote; each entry that came or went is a line of the audit log. */
  async #follow(text: string, actor: Actor): Promise<void> {
    const digest = digestOf(text);
    const state = await this.#store.fileState(this.#file, digest);
    if (state.kind === 'known') return;
    if (state.kind === 'overtaken') return await this.#show();
    const change = await this.#store.adopt(this.#file, digest, parseBlocklist(text));
    const before = this.ids;
    this.#adopt(await this.#store.load());
    this.problem = undefined;
    if (change === undefined) return;
    const { came, went } = change;
    const given = { entries: this.#entries.size, blocked: came.length, unblocked: went.length };
    await this.#options.audit.record({ ...actor, action: 'reload', given, result: 'done' });
    for (const entry of came.slice(0, maxReloadLines)) await this.#record(actor, 'block', entry, 'done');
    for (const entry of went.slice(0, maxReloadLines)) await this.#record(actor, 'unblock', entry, 'done');
    const fresh = [...this.ids].filter((id) => !before.has(id));
    if (fresh.length > 0) this.onOthers(fresh);
    if (came.length + went.length > 0) this.#untold = true;
  }

  async #readFile(): Promise<string | undefined> {
    const found = await stat(this.path).catch((error: unknown) => {
      if (!hasCode(error, 'ENOENT')) throw error;
    });
    if (found === undefined) return undefined;
    if (found.size > fileLimit) throw new Error('the blocklist is larger than 64 MiB');
    return await readFile(this.path, 'utf8');
  }

  /** Writes the list to the file, unless it shows it. One that somebody is about to mend is theirs until it is whole. */
  async #show(file: 'anyway' | 'unless it is being mended' = 'anyway'): Promise<void> {
    try {
      await this.#write(file);
    } catch (error) {
      this.#isFileOwed ||= error instanceof DatabaseUnavailable;
      throw error;
    }
  }

  async #write(file: 'anyway' | 'unless it is being mended'): Promise<void> {
    const entries = [...this.#entries.values()];
    const text = blocklistText(entries, this.#list.updatedAt || new Date(0).toISOString());
    const present = await this.#readFile().catch(() => undefined);
    if (present === text) return;
    const state =
      present === undefined ? undefined : await this.#store.fileState(this.#file, digestOf(present));
    // By hand, and the same entries.
    if (state?.kind === 'known' && sameEntries(present, entries)) return;
    if (file !== 'anyway' && state?.kind !== 'known' && state?.kind !== 'overtaken') return;
    const digest = digestOf(text);
    if (!(await this.#store.willWrite(this.#file, digest, this.#list.version))) return;
    await writeFileDurably(this.path, text, 0o600);
    await this.#store.written(this.#file, digest);
    this.problem = undefined;
  }

  #adopt({ version, updatedAt, entries }: StoredList): void {
    this.#entries = new Map(entries.map((entry) => [keyOf(entry), entry]));
    this.replace({
      ids: entries.flatMap((entry) => idOf(entry) ?? []),
      hashes: [],
      names: entries.flatMap(({ type, value }) => (type === 'arns' ? value : [])),
    });
    this.places.replace(
      entries.flatMap((entry) => {
        const id = idOf(entry);
        return id === undefined || entry.place === undefined ? [] : { ...entry.place, id };
      }),
    );
    this.#list = { version, updatedAt };
  }

  #recordFailure(
    actor: Actor,
    action: 'block' | 'unblock',
    entry: Partial<BlockEntry> & Pick<BlockEntry, 'type' | 'value'>,
  ): (error: unknown) => Promise<never> {
    return async (error) => {
      await this.#record(actor, action, entry, `failed: ${messageOf(error)}`);
      throw error;
    };
  }

  async #record(
    actor: Actor,
    action: 'block' | 'unblock',
    { type, value, reason, blockedBy }: Partial<BlockEntry> & Pick<BlockEntry, 'type' | 'value'>,
    result: string,
  ): Promise<void> {
    const kind = type === 'arns' ? 'name' : 'id';
    await this.#options.audit.record({
      ...actor,
      action,
      kind,
      value,
      source: blockedBy,
      notes: reason,
      result,
    });
  }
}

const digestOf = (text: string): string => hash('sha256', text, 'base64url');

/** What an entry does; the rest of it is for people. */
const effectOf = ({ type, value, resolvedTxId, place }: BlockEntry): string =>
  JSON.stringify([type, value, resolvedTxId, place?.root, place?.start, place?.end]);

function sameEntries(text: string | undefined, entries: readonly BlockEntry[]): boolean {
  if (text === undefined) return false;
  try {
    const shown = new Set(parseBlocklist(text).map(effectOf));
    return shown.size === entries.length && entries.every((entry) => shown.has(effectOf(entry)));
  } catch {
    return false;
  }
}
