/**
 * Who changed what and why, one line of JSON for each change, in a file that is only added to. A line is on the disk
 * before the change is answered. Processes of one machine may share the file: each line is one write at its end.
 */
import { createHash } from 'node:crypto';
import { mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isRecord, textOf, tryParseJson } from '../formats/json.ts';
import { messageOf } from './errors.ts';
import type { Logger } from './log.ts';

/** Who acts, and by which way. */
export interface Actor {
  /** `key 1a2b3c4d` (a fingerprint, never the key), or `file` for what was changed by hand on the disk. */
  readonly who: string;
  readonly via: 'api' | 'admin' | 'file';
  /** The client's address. */
  readonly from?: string | undefined;
}

/** What was done; texts of strangers are cut to a bounded length. */
export interface AuditEvent extends Actor {
  /** For example `block` or `prune-stable-data-items`. */
  readonly action: string;
  /** Of a block: `id`, `hash` or `name`. */
  readonly kind?: string | undefined;
  readonly value?: string | undefined;
  /** Who asked for it, as the operator says. */
  readonly source?: string | undefined;
  readonly notes?: string | undefined;
  /** Of other calls: what they were given. */
  readonly given?: unknown;
  /** What came of it: `done`, `no change`, or why it failed. */
  readonly result: string;
}

export interface AuditLine extends AuditEvent {
  /** ISO 8601. */
  readonly at: string;
  readonly surface: string;
}

export interface AuditQuery {
  /** Unix milliseconds; earlier lines are left out. */
  readonly since?: number | undefined;
  readonly limit: number;
}

const maxAuditLines = 1_000;
const maxLineBytes = 8 * 1024;
/** Holds as many lines as may be asked for, however long they are. */
const tailBytes = maxAuditLines * maxLineBytes;
const lengths = { short: 256, long: 1_024 };

export class AuditLog {
  readonly path: string;
  readonly #surface: string;
  readonly #log: Logger;
  /** Why the last line is not on the disk. */
  problem: string | undefined;

  constructor(path: string, surface: string, log: Logger) {
    this.path = path;
    this.#surface = surface;
    this.#log = log;
  }

  /** What has been done stays done where the line cannot be written: the log has it then, and the health says so. */
  async record(event: AuditEvent): Promise<void> {
    const line = { at: new Date().toISOString(), surface: this.#surface, ...bounded(event) };
    this.#log.info(line, 'operator call');
    try {
      await mkdir(dirname(this.path), { recursive: true });
      const file = await open(this.path, 'a', 0o600);
      try {
        await file.appendFile(`${JSON.stringify(line)}\n`);
        await file.datasync();
      } finally {
        await file.close();
      }
      this.problem = undefined;
    } catch (error) {
      this.problem = messageOf(error);
      this.#log.error({ err: error, line }, 'the audit log cannot be written');
    }
  }

  problems(): readonly string[] {
    return this.problem === undefined ? [] : [`audit log: ${this.problem}`];
  }

  /** Newest first. */
  async read({ since = 0, limit }: AuditQuery): Promise<AuditLine[]> {
    const file = await open(this.path).catch(() => undefined);
    if (file === undefined) return [];
    try {
      const { size } = await file.stat();
      const length = Math.min(size, tailBytes);
      const { buffer } = await file.read(Buffer.alloc(length), 0, length, size - length);
      const texts = buffer.toString('utf8').split('\n');
      if (length < size) texts.shift();
      const lines = texts.flatMap((text) => this.#parse(text));
      return lines
        .filter(({ at }) => Date.parse(at) >= since)
        .slice(-Math.min(limit, maxAuditLines))
        .reverse();
    } finally {
      await file.close();
    }
  }

  /** A line that a crash cut short is left out. Earlier releases wrote fewer fields, under other names. */
  #parse(text: string): AuditLine[] {
    const line = tryParseJson(text);
    const at = textOf(line, 'at');
    const action = textOf(line, 'action');
    if (!isRecord(line) || at === undefined || action === undefined) return [];
    const isEarlier = !('who' in line);
    const via = textOf(line, isEarlier ? 'source' : 'via');
    return [
      {
        at,
        surface: textOf(line, 'surface') ?? this.#surface,
        who: textOf(line, isEarlier ? 'actor' : 'who') ?? '',
        via: via === 'admin' || via === 'file' ? via : 'api',
        from: textOf(line, 'from'),
        action,
        kind: textOf(line, isEarlier ? 'type' : 'kind'),
        value: textOf(line, 'value'),
        source: isEarlier ? undefined : textOf(line, 'source'),
        notes: textOf(line, isEarlier ? 'reason' : 'notes'),
        given: line.given,
        result: textOf(line, 'result') ?? 'done',
      },
    ];
  }
}

const defaultLines = 100;

/** What a request asks for; undefined where it makes no sense. `since` is a time in ISO 8601. */
export function readAuditQuery(query: {
  readonly since?: string | undefined;
  readonly limit?: string | undefined;
}): AuditQuery | undefined {
  const since = query.since === undefined ? undefined : Date.parse(query.since);
  const limit = query.limit === undefined ? defaultLines : Number(query.limit);
  const isRight = !Number.isNaN(since) && Number.isInteger(limit) && limit >= 1 && limit <= maxAuditLines;
  return isRight ? { since, limit } : undefined;
}

/** Tells keys apart without showing them. */
export function fingerprintOf(key: string): string {
  return `key ${createHash('sha256').update(key).digest('hex').slice(0, 8)}`;
}

function bounded(event: AuditEvent): AuditEvent {
  const { who, via, from, action, kind, value, source, notes, given, result } = event;
  const text = given === undefined ? undefined : JSON.stringify(given);
  return {
    who: cut(who, lengths.short),
    via,
    from: from && cut(from, lengths.short),
    action: cut(action, lengths.short),
    kind: kind,
    value: value && cut(value, lengths.short),
    source: source && cut(source, lengths.short),
    notes: notes && cut(notes, lengths.long),
    given: text === undefined || text.length <= lengths.long ? given : cut(text, lengths.long),
    result: cut(result, lengths.short),
  };
}

const cut = (text: string, length: number): string =>
  text.length <= length ? text : `${text.slice(0, length - 1)}…`;
