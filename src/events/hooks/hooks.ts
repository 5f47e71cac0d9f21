/** Webhooks as their owners see them: made, changed, paused, looked at, removed; what was given up, and sending it again. */
import { tryParseJson } from '../../formats/json.ts';
import { createJob } from '../../kernel/background/job.ts';
import type { Logger } from '../../kernel/log.ts';
import type { Part } from '../../kernel/part.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import { BadQuery, cursorText, type EventSource, type FeedEvent, type FeedQuery } from '../feed.ts';
import type { LiveFeed } from '../live-feed.ts';
import { Deliverer } from './deliverer.ts';
import {
  invalidHook,
  noRoomForHooks,
  noSuchHook,
  noSuchLetter,
  tooManyHooks,
  tooManySendings,
} from './errors.ts';
import type { HookMetrics } from './metrics.ts';
import { newSecret } from './signature.ts';
import { type DeadLetter, type Hook, type HookFields, HookStore, newHookId, secretsOf } from './store.ts';
import { type Outcome, Targets } from './target.ts';

export interface HooksOptions<E extends FeedEvent, Q extends FeedQuery> {
  readonly sql: Sql;
  readonly feed: LiveFeed<E, Q>;
  readonly source: EventSource<E, Q>;
  readonly log: Logger;
  readonly metrics: HookMetrics;
  readonly now?: () => number;
  readonly limits: HookLimits;
}

export interface HookLimits {
  readonly maxHooks: number;
  /** Of a wallet. */
  readonly maxPerOwner: number;
  readonly timeoutMs: number;
  readonly allowPrivate: boolean;
  readonly giveUpMs: number;
  readonly endAfterMs: number;
  readonly maxDeadLetters: number;
  readonly keepDeadLettersMs: number;
  readonly leaseMs?: number;
  readonly pollMs?: number;
}

/** What an owner says of a hook. */
export interface HookSettings {
  readonly url?: string;
  readonly query?: unknown;
  readonly description?: string;
}

/** How long the secret before is still used beside the new one. */
const bothSecretsMs = 24 * 3_600_000;
const keepEndedMs = 30 * 24 * 3_600_000;
const pruneEveryMs = 3_600_000;
const maxDescription = 256;
const maxQuery = 16 * 1024;
/** Dead letters that owners have sent again at the same time. */
const maxSendings = 8;

export class Hooks<E extends FeedEvent, Q extends FeedQuery> {
  readonly #options: HooksOptions<E, Q>;
  readonly #store: HookStore;
  readonly #targets: Targets;
  readonly #now: () => number;
  readonly deliverer: Deliverer<E, Q>;
  #sendings = 0;
  readonly part: Part;

  constructor(options: HooksOptions<E, Q>) {
    const { sql, feed, log, metrics, limits, now = Date.now } = options;
    this.#options = options;
    this.#now = now;
    this.#store = new HookStore(sql);
    const { timeoutMs, allowPrivate } = limits;
    this.#targets = new Targets({ timeoutMs, allowPrivate, now });
    this.deliverer = new Deliverer<E, Q>({
      ...{ feed, log, metrics, now, ...limits },
      store: this.#store,
      targets: this.#targets,
      queryOf: ({ subject, query }) => this.#parseQuery(subject, tryParseJson(query)),
    });
    const prune = createJob({
      name: 'forget dead letters',
      everyMs: pruneEveryMs,
      log,
      run: () => this.#store.prune(now() - limits.keepDeadLettersMs, now() - keepEndedMs),
    });
    this.part = {
      name: 'webhooks',
      jobs: [
        {
          start: () => this.deliverer.start(),
          stop: () => this.deliverer.stop(),
          reports: () => this.deliverer.task.reports(),
        },
        prune,
      ],
      stop: () => this.#targets.close(),
    };
  }

  /** The secret is told this once. */
  async add(subject: string, settings: HookSettings) {
    const { maxHooks, maxPerOwner } = this.#options.limits;
    const { url, query = '{}', description = '' } = this.#fields(subject, settings);
    if (url === undefined) throw invalidHook('url is missing');
    const now = this.#now();
    const cursor = cursorText(await this.#options.feed.newest());
    const hook: Hook = {
      ...{ id: newHookId(), subject, url, query, description, secret: newSecret() },
      ...{ oldSecret: undefined, oldSecretUntil: undefined, state: 'active', version: 0, cursor, ping: 1 },
      ...{ message: undefined, messageTo: undefined, messageAt: undefined },
      ...{ failures: 0, failingSince: undefined, nextTryAt: 0, delivered: 0, createdAt: now },
      ...{ lastTryAt: undefined, lastTakenAt: undefined, lastStatus: undefined, lastError: undefined },
      endedAt: undefined,
    };
    const most = subject === '' ? maxHooks : maxPerOwner;
    const added = await this.#store.add(hook, most, maxHooks);
    if (added === 'owner') throw tooManyHooks(most);
    if (added === 'all') throw noRoomForHooks();
    this.deliverer.changed();
    return { ...this.#view(hook, 0), secret: hook.secret };
  }

  async list(subject: string) {
    const hooks = await this.#store.list(subject);
    const letters = await this.#store.countLetters(hooks.map(({ id }) => id));
    return hooks.map((hook) => this.#view(hook, letters.get(hook.id) ?? 0));
  }

  async get(subject: string, id: string) {
    const hook = await this.#store.get(subject, id);
    if (hook === undefined) throw noSuchHook();
    return this.#shown(hook);
  }

  async change(subject: string, id: string, settings: HookSettings) {
    const fields = this.#fields(subject, settings);
    // What is on its way was chosen by the query before.
    const reset =
      fields.query === undefined ? {} : { message: undefined, messageTo: undefined, messageAt: undefined };
    return this.#shown(await this.#change(subject, id, () => ({ ...fields, ...reset, ...afresh })));
  }

  async pause(subject: string, id: string) {
    return this.#shown(
      await this.#change(subject, id, ({ state }) => (state === 'active' ? { state: 'paused' } : {})),
    );
  }

  /** Goes on where it was, at once; also with a hook that ended. */
  async resume(subject: string, id: string) {
    return this.#shown(
      await this.#change(subject, id, ({ message }) => ({
        ...{ state: 'active', endedAt: undefined, ...afresh },
        ...(message !== undefined && { messageAt: this.#now() }),
      })),
    );
  }

  /** A new secret, told this once; messages are signed with both for a day. */
  async rotate(subject: string, id: string) {
    const secret = newSecret();
    const oldSecretUntil = this.#now() + bothSecretsMs;
    const hook = await this.#change(subject, id, (before) => ({
      secret,
      oldSecret: before.secret,
      oldSecretUntil,
    }));
    return { ...(await this.#shown(hook)), secret };
  }

  async ping(subject: string, id: string) {
    return this.#shown(
      await this.#change(subject, id, ({ message }) =>
        message === undefined ? { ping: 1, nextTryAt: 0 } : { nextTryAt: 0 },
      ),
    );
  }

  async remove(subject: string, id: string): Promise<void> {
    if (!(await this.#store.remove(subject, id))) throw noSuchHook();
    this.deliverer.changed();
  }

  async letters(subject: string, id: string) {
    await this.get(subject, id);
    return (await this.#store.letters(id)).map(letterView);
  }

  async letter(subject: string, id: string, letterId: string) {
    const letter = await this.#letter(subject, id, letterId);
    return { ...letterView(letter), body: tryParseJson(letter.body) };
  }

  /** Sends a dead letter now; once it was taken it is none any more. */
  async resend(subject: string, id: string, letterId: string): Promise<Outcome> {
    const letter = await this.#letter(subject, id, letterId);
    const hook = await this.#store.get(subject, id);
    if (hook === undefined) throw noSuchHook();
    if (this.#sendings >= maxSendings) throw tooManySendings();
    this.#sendings += 1;
    try {
      const outcome = await this.#targets.send(hook.url, letter, secretsOf(hook, this.#now()));
      if (outcome.taken) await this.#store.dropLetter(id, letterId);
      return outcome;
    } finally {
      this.#sendings -= 1;
    }
  }

  async dropLetter(subject: string, id: string, letterId: string): Promise<void> {
    await this.#letter(subject, id, letterId);
    await this.#store.dropLetter(id, letterId);
  }

  async #letter(subject: string, id: string, letterId: string): Promise<DeadLetter> {
    await this.get(subject, id);
    const letter = await this.#store.letter(id, letterId);
    if (letter === undefined) throw noSuchLetter();
    return letter;
  }

  async #change(subject: string, id: string, fieldsOf: (hook: Hook) => HookFields): Promise<Hook> {
    const hook = await this.#store.change(subject, id, fieldsOf);
    if (hook === undefined) throw noSuchHook();
    this.deliverer.changed();
    return hook;
  }

  #fields(subject: string, { url, query, description }: HookSettings) {
    if (description !== undefined && description.length > maxDescription) {
      throw invalidHook(`description has more than ${maxDescription} characters`);
    }
    if (query !== undefined) this.#parseQuery(subject, query);
    const text = JSON.stringify(query);
    if (text !== undefined && Buffer.byteLength(text) > maxQuery) throw invalidHook('query is too large');
    return {
      ...(url !== undefined && { url: this.#targets.parse(url) }),
      ...(text !== undefined && { query: text }),
      ...(description !== undefined && { description }),
    };
  }

  /** A wallet's hook is told of that wallet alone, whatever it asks for. */
  #parseQuery(subject: string, json: unknown): Q {
    try {
      const query = this.#options.source.parseQuery(json);
      return subject === '' ? query : { ...query, subject };
    } catch (error) {
      throw error instanceof BadQuery ? invalidHook(error.message) : error;
    }
  }

  async #shown(hook: Hook) {
    const letters = await this.#store.countLetters([hook.id]);
    return this.#view(hook, letters.get(hook.id) ?? 0);
  }

  #view(hook: Hook, deadLetters: number) {
    const isFailing = hook.state === 'active' && hook.failures > 0;
    return {
      id: hook.id,
      url: hook.url,
      description: hook.description,
      query: tryParseJson(hook.query),
      state: isFailing ? 'failing' : hook.state,
      cursor: hook.cursor,
      delivered: hook.delivered,
      failures: hook.failures,
      deadLetters,
      lastTryAt: hook.lastTryAt ?? null,
      lastTakenAt: hook.lastTakenAt ?? null,
      lastStatus: hook.lastStatus ?? null,
      lastError: hook.lastError ?? null,
      nextTryAt: isFailing ? hook.nextTryAt : null,
      oldSecretUntil:
        hook.oldSecretUntil !== undefined && hook.oldSecretUntil > this.#now() ? hook.oldSecretUntil : null,
      createdAt: hook.createdAt,
    };
  }
}

/** An owner who changes something does not wait for the next try. */
const afresh = { failures: 0, failingSince: undefined, nextTryAt: 0 } as const;

const letterView = ({ id, events, status, error, madeAt, deadAt }: DeadLetter) => ({
  ...{ id, events, status: status ?? null, error, madeAt, deadAt },
});
