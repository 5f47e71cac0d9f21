/**
 * The blocklist of a gateway in another process: asked for again and again, kept on disk as it was last read, and
 * obeyed while the gateway is away. Where it was never read there is nothing to obey, and the start fails: to serve
 * what should be blocked is worse than not to serve.
 */
import { readFile } from 'node:fs/promises';
import { isTxId } from '../../formats/base64url.ts';
import { isCount, memberOf, textOf, tryParseJson } from '../../formats/json.ts';
import { createJob, type Job } from '../../kernel/background/job.ts';
import { hasCode, messageOf, StartupError } from '../../kernel/errors.ts';
import { writeFileDurably } from '../../kernel/files.ts';
import type { Logger } from '../../kernel/log.ts';
import { HttpClient } from '../../outside/http.ts';
import { BlockSet, type Place } from './block-set.ts';
import type { FollowedBlocklist } from './blocklist.ts';

export interface FollowerOptions {
  /** The gateway's base address. */
  readonly url: string;
  /** Its admin key. */
  readonly key: string;
  /** Where the list is kept. */
  readonly path: string;
  readonly everyMs: number;
  /** The surfaces that obey it, for the operator of the gateway. */
  readonly surfaces: readonly string[];
  readonly log: Logger;
}

/** A list as a gateway tells it. */
export interface BlockDocument {
  readonly ids: readonly string[];
  readonly hashes: readonly string[];
  readonly names: readonly string[];
  readonly places: readonly Place[];
}

const maxBytes = 64 * 1024 * 1024;
const timeoutMs = 10_000;
/** Reads in a row that may fail before it is a problem. */
const toleratedFailures = 2;

export class BlocklistFollower extends BlockSet implements FollowedBlocklist {
  readonly #options: FollowerOptions;
  readonly #http = new HttpClient({ timeoutMs, maxBytes, connections: 1 });
  readonly #polling: Job;
  #etag: string | undefined;
  #failures = 0;
  #problem: string | undefined;

  constructor(options: FollowerOptions) {
    super();
    this.#options = options;
    this.#polling = createJob({
      name: 'follow the block list',
      everyMs: options.everyMs,
      log: options.log,
      run: () => this.refresh(),
    });
  }

  async start(): Promise<void> {
    const kept = await this.#readKept();
    if (kept !== undefined) this.#adopt(kept);
    try {
      await this.#fetch();
    } catch (error) {
      if (kept === undefined) {
        throw new StartupError(`MODERATION_FOLLOW_URL ${this.#options.url}: ${messageOf(error)}`);
      }
      this.#failed(error);
    }
    this.#polling.start();
  }

  async stop(): Promise<void> {
    await this.#polling.stop();
    await this.#http.close();
  }

  problems(): readonly string[] {
    if (this.#problem === undefined || this.#failures <= toleratedFailures) return [];
    return [`blocklist of ${new URL(this.#options.url).origin}: ${this.#problem}`];
  }

  /** Asks once; what cannot be read leaves the list as it was. */
  async refresh(): Promise<void> {
    try {
      await this.#fetch();
      this.#failures = 0;
      this.#problem = undefined;
    } catch (error) {
      this.#failed(error);
    }
  }

  #failed(error: unknown): void {
    this.#failures += 1;
    this.#problem = messageOf(error);
    if (this.#failures === toleratedFailures + 1) {
      this.#options.log.warn({ err: error }, 'the block list cannot be followed: the last known one holds');
    }
  }

  async #fetch(): Promise<void> {
    const { url, key, path, surfaces, everyMs } = this.#options;
    const query = new URLSearchParams({ follower: surfaces.join(' '), everyMs: String(everyMs) });
    const answer = await this.#http.call(`${url}/gw/admin/blocklist?${query}`, {
      headers: {
        authorization: `Bearer ${key}`,
        ...(this.#etag !== undefined && { 'if-none-match': this.#etag }),
      },
    });
    if (answer.status === 304) return;
    if (answer.status !== 200) throw new Error(`the gateway answered ${answer.status}`);
    const text = answer.body.toString('utf8');
    const document = readBlockDocument(text);
    if (document === undefined) throw new Error('the gateway answered no block list');
    this.#adopt(document);
    await writeFileDurably(path, text, 0o600);
    // Only now: what is not on the disk is asked for again.
    const etag = answer.headers.etag;
    this.#etag = typeof etag === 'string' ? etag : undefined;
  }

  #adopt(document: BlockDocument): void {
    this.replace(document);
    this.places.replace(document.places);
  }

  async #readKept(): Promise<BlockDocument | undefined> {
    const { path } = this.#options;
    const text = await readFile(path, 'utf8').catch((error: unknown) => {
      if (!hasCode(error, 'ENOENT')) throw new StartupError(`${path}: ${messageOf(error)}`);
    });
    return text === undefined ? undefined : readBlockDocument(text);
  }
}

/** Undefined where the text is no such document: a list is taken whole or not at all. */
export function readBlockDocument(text: string): BlockDocument | undefined {
  const document = tryParseJson(text);
  const ids = textsOf(document, 'ids');
  const hashes = textsOf(document, 'hashes');
  const names = textsOf(document, 'names');
  const places = memberOf(document, 'places');
  if (ids === undefined || hashes === undefined || names === undefined || !Array.isArray(places)) {
    return undefined;
  }
  const read = places.map(readPlace);
  if (![...ids, ...hashes].every(isTxId) || !read.every((place) => place !== undefined)) return undefined;
  return { ids, hashes, names, places: read };
}

function textsOf(document: unknown, name: string): string[] | undefined {
  const list = memberOf(document, name);
  return Array.isArray(list) && list.every((one): one is string => typeof one === 'string')
    ? list
    : undefined;
}

/** Undefined where it is no place. */
function readPlace(value: unknown): Place | undefined {
  const [id, root] = [textOf(value, 'id'), textOf(value, 'root')];
  const [start, end] = [memberOf(value, 'start'), memberOf(value, 'end')];
  if (id === undefined || root === undefined || !isTxId(id) || !isTxId(root)) return undefined;
  if (!isCount(start) || !isCount(end) || end <= start) return undefined;
  return { id, root, start, end };
}
