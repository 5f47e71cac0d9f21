/**
 * What may not be served. Asked at every hop of a request (name, what it points at, manifest, file in it), so it
 * answers from memory. Changes are written to the file before they count; the file may also be
 * changed by hand or replaced, and a bad one changes nothing.
 */
import { mkdir, readFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { BlockSet } from '../../delivery/moderation/block-set.ts';
import type { Actor, AuditLog } from '../../kernel/audit-log.ts';
import { hasCode, messageOf, StartupError } from '../../kernel/errors.ts';
import { writeFileDurably } from '../../kernel/files.ts';
import type { Logger } from '../../kernel/log.ts';
import type { Part } from '../../kernel/part.ts';
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
/** Of a file with more changes than this the audit log has the number, and the file itself the rest. */
const maxReloadLines = 1_000;
/** What was changed by hand, on the disk. */
const byHand: Actor = { who: 'file', via: 'file' };

export class Blocklist extends BlockSet implements Part {
  readonly name = 'moderation';
  readonly path: string;
  readonly #audit: AuditLog;
  readonly #log: Logger;
  #entries = new Map<string, BlockEntry>();
  #lastUpdated: string | null = null;
  #text = '';
  #changes: Promise<unknown> = Promise.resolve();
  #unwatch: (() => void) | undefined;
  /** Why the file is not what is enforced. */
  problem: string | undefined;
  failedReloads = 0;

  constructor(path: string, audit: AuditLog, log: Logger) {
    super();
    this.path = path;
    this.#audit = audit;
    this.#log = log;
  }

  /** A list that cannot be read at start is fatal: serving what should be blocked is worse than not serving. */
  async start(): Promise<void> {
    try {
      await mkdir(dirname(this.path), { recursive: true });
      const text = await this.#readFile();
      if (text === undefined) await this.#store([]);
      else this.#adopt(parseBlocklist(text), text);
    } catch (error) {
      throw new StartupError(`MODERATION_BLOCKLIST_PATH ${this.path}: ${messageOf(error)}`, {
        cause: error,
      });
    }
    this.#unwatch = watchFile(this.path, () => void this.reload(byHand).catch(() => {}));
  }

  async stop(): Promise<void> {
    this.#unwatch?.();
  }

  problems(): readonly string[] {
    return this.problem === undefined ? [] : [`blocklist: ${this.problem}`];
  }

  find(type: BlockType, value: string): BlockEntry | undefined {
    return this.#entries.get(keyOf(type, value));
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
      lastUpdated: this.#lastUpdated,
      filePath: this.path,
    };
  }

  /** Adds an entry, or what is new about one. True when anything changed. */
  block(entry: BlockEntry, actor: Actor): Promise<boolean> {
    return this.#change(async () => {
      await this.#followFile();
      const key = keyOf(entry.type, entry.value);
      const known = this.#entries.get(key);
      // What a name shows is found out after it was blocked, and is one change with it.
      const isLater =
        known !== undefined && known.resolvedTxId === undefined && entry.resolvedTxId !== undefined;
      if (known !== undefined && !isLater) {
        await this.#record(actor, 'block', entry, 'no change');
        return false;
      }
      const { resolvedTxId } = entry;
      const next = isLater && resolvedTxId !== undefined ? { ...known, resolvedTxId } : entry;
      await this.#store([...new Map(this.#entries).set(key, next).values()]).catch(async (error: unknown) => {
        await this.#record(actor, 'block', entry, `failed: ${messageOf(error)}`);
        throw error;
      });
      if (!isLater) await this.#record(actor, 'block', entry, 'done');
      return true;
    });
  }

  /** The entry that was removed; undefined when there was none. */
  unblock(type: BlockType, value: string, actor: Actor): Promise<BlockEntry | undefined> {
    return this.#change(async () => {
      await this.#followFile();
      const key = keyOf(type, value);
      const entry = this.#entries.get(key);
      if (entry === undefined) {
        await this.#record(actor, 'unblock', { type, value }, 'no change');
        return undefined;
      }
      const next = new Map(this.#entries);
      next.delete(key);
      await this.#store([...next.values()]).catch(async (error: unknown) => {
        await this.#record(actor, 'unblock', { type, value }, `failed: ${messageOf(error)}`);
        throw error;
      });
      await this.#record(actor, 'unblock', { type, value }, 'done');
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
  place(id: string, { root, start, end }: EntryPlace): Promise<void> {
    return this.#change(async () => {
      await this.#followFile();
      const entries = [...this.#entries.values()];
      if (!entries.some((entry) => idOf(entry) === id && entry.place === undefined)) return;
      this.places.add({ id, root, start, end });
      // A file that somebody is about to mend is theirs until it is whole again.
      if ((await this.#readFile().catch(() => undefined)) !== this.#text) return;
      await this.#store(
        entries.map((entry) => (idOf(entry) === id ? { ...entry, place: { root, start, end } } : entry)),
      );
    });
  }

  /** Reads the file again. One that is wrong changes nothing and is an error. */
  reload(actor: Actor): Promise<void> {
    return this.#change(async () => {
      try {
        const text = await this.#readFile();
        if (text === undefined) throw new Error('the file is gone');
        const isNew = text !== this.#text;
        if (isNew) await this.#adoptFile(text, actor);
        this.problem = undefined;
      } catch (error) {
        if (this.problem === undefined) {
          await this.#audit.record({ ...actor, action: 'reload', result: `failed: ${messageOf(error)}` });
        }
        this.problem = messageOf(error);
        this.failedReloads += 1;
        this.#log.error({ err: error }, 'the blocklist cannot be read: the last good one stays in force');
        throw error;
      }
    });
  }

  /** One change at a time, each whole. */
  #change<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#changes.then(work);
    this.#changes = done.catch(() => {});
    return done;
  }

  /** What was just written by hand is part of what is written next; a file that is wrong is not. */
  async #followFile(): Promise<void> {
    try {
      const text = await this.#readFile();
      if (text === undefined || text === this.#text) return;
      await this.#adoptFile(text, byHand);
    } catch (error) {
      this.#log.warn({ err: error }, 'a blocklist that cannot be read is replaced by the one in force');
    }
  }

  /** A file that another hand wrote; each entry that came or went is a line of the audit log. */
  async #adoptFile(text: string, actor: Actor): Promise<void> {
    const before = this.#entries;
    this.#adopt(parseBlocklist(text), text);
    const after = this.#entries;
    const came = [...after].filter(([key]) => !before.has(key)).map(([, entry]) => entry);
    const went = [...before].filter(([key]) => !after.has(key)).map(([, entry]) => entry);
    const given = { entries: after.size, blocked: came.length, unblocked: went.length };
    await this.#audit.record({ ...actor, action: 'reload', given, result: 'done' });
    for (const entry of came.slice(0, maxReloadLines)) await this.#record(actor, 'block', entry, 'done');
    for (const { type, value } of went.slice(0, maxReloadLines)) {
      await this.#record(actor, 'unblock', { type, value }, 'done');
    }
  }

  async #readFile(): Promise<string | undefined> {
    const found = await stat(this.path).catch((error: unknown) => {
      if (!hasCode(error, 'ENOENT')) throw error;
    });
    if (found === undefined) return undefined;
    if (found.size > fileLimit) throw new Error('the blocklist is larger than 64 MiB');
    return await readFile(this.path, 'utf8');
  }

  async #store(entries: readonly BlockEntry[]): Promise<void> {
    const text = blocklistText(entries, new Date().toISOString());
    await writeFileDurably(this.path, text, 0o600);
    this.#adopt(entries, text);
  }

  #adopt(entries: readonly BlockEntry[], text: string): void {
    this.#entries = new Map(entries.map((entry) => [keyOf(entry.type, entry.value), entry]));
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
    this.#lastUpdated = new Date().toISOString();
    this.#text = text;
    this.problem = undefined;
  }

  async #record(
    actor: Actor,
    action: 'block' | 'unblock',
    { type, value, reason, blockedBy }: Partial<BlockEntry> & Pick<BlockEntry, 'type' | 'value'>,
    result: string,
  ): Promise<void> {
    const kind = type === 'arns' ? 'name' : 'id';
    await this.#audit.record({ ...actor, action, kind, value, source: blockedBy, notes: reason, result });
  }
}

function keyOf(type: BlockType, value: string): string {
  return `${type}/${value}`;
}
