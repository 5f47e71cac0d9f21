/**
 * The property: whatever a stranger sends, no bystander loses anything, and nothing private is shown to the
 * stranger. One run is told by its seed; a hit is what broke the property, with the requests that led to it.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { openLedgerDatabase } from '../../src/cli/ledger-database.ts';
import { createCredits } from '../../src/credits/ledger/ledger.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { type Bystander, bystanders as everybody } from './bystanders.ts';
import { type Answer, type Call, notSent } from './calls.ts';
import { Knowledge, Secrets } from './knowledge.ts';
import { requestMark } from './routes.ts';
import { BystandersState } from './state.ts';
import { type Allowed, type Route, Stranger } from './stranger.ts';
import { operatorSecrets, sessionLifeSeconds, World } from './world.ts';

export interface RunOptions {
  readonly seed: number;
  readonly requests: number;
  /** Whether the services demand signatures that are bound to them. */
  readonly bound?: boolean;
  /** What was made for one service must not hold at the other; unless said otherwise, where that is demanded. */
  readonly crossService?: boolean;
  /** Goes on after a hit, and tells each kind of hit once. */
  readonly keepGoing?: boolean;
  /** Stops early when so much time has passed. */
  readonly milliseconds?: number;
}

export interface Hit {
  readonly seed: number;
  /** The number of the request after which it was seen. */
  readonly request: number;
  readonly scenario: string;
  readonly what: readonly string[];
  /** Of the scenario, the last one last. */
  readonly requests: readonly string[];
}

export interface Report {
  readonly seed: number;
  readonly requests: number;
  readonly seconds: number;
  readonly hits: readonly Hit[];
  /** `method path` of every route that was asked, of all there are. */
  readonly asked: number;
  readonly routes: number;
  readonly notAsked: readonly string[];
  /** Of those asked, how many answered with success at least once. */
  readonly succeeded: number;
  /** Answers by hundreds. */
  readonly statuses: Readonly<Record<string, number>>;
}

/** Time between two requests of the stranger, as the services see it. */
const tickMs = 20;
/** Scenarios between two things that bystanders do. */
const scenariosPerTurn = 25;

export async function run(options: RunOptions): Promise<Report> {
  const world = await World.start({ bound: options.bound === true });
  const trial = new Trial(world, options);
  try {
    await trial.begin();
    await trial.all();
  } finally {
    await world.stopServices();
    try {
      await trial.checkLedgers();
    } finally {
      await world.remove();
    }
  }
  return trial.report();
}

class Trial {
  readonly #world: World;
  readonly #options: RunOptions;
  readonly #random;
  readonly #knowledge = new Knowledge();
  readonly #secrets = new Secrets();
  readonly #bystanders: readonly Bystander[];
  readonly #stranger: Stranger;
  readonly #state: BystandersState;
  readonly #routes: readonly Route[];
  readonly #hits: Hit[] = [];
  readonly #kinds = new Set<string>();
  readonly #asked = new Map<string, boolean>();
  readonly #statuses: Record<string, number> = {};
  readonly #blocks: DatabaseSync;
  readonly #started = performance.now();
  #scenario = 'moving in';
  #sent: string[] = [];
  #count = 0;
  #operator = '';
  #seconds = 0;
  #ended = false;

  constructor(world: World, options: RunOptions) {
    this.#world = world;
    this.#options = options;
    this.#random = seededRandom(options.seed);
    this.#bystanders = everybody(world, this.#random, this.#knowledge, this.#secrets);
    for (const secret of Object.values(operatorSecrets)) this.#secrets.add(secret, "the operator's secret");
    this.#routes = world.routes();
    this.#stranger = new Stranger({
      world,
      random: this.#random,
      knowledge: this.#knowledge,
      bystanders: this.#bystanders,
      routes: this.#routes,
      isProtected,
      send: (call, allowed) => this.#send(call, allowed),
      complain: (what) => this.#hit([what]),
    });
    this.#state = new BystandersState({
      world,
      bystanders: this.#bystanders,
      tolerance: { elsewhere: !(options.crossService ?? options.bound === true) },
      strangersQuotes: this.#stranger.quotes,
      signedElsewhere: this.#stranger.signedElsewhere,
    });
    this.#blocks = new DatabaseSync(join(world.services.here.folder, 'gateway.db'), { readOnly: true });
  }

  /** Everybody pays, uploads and names something. */
  async begin(): Promise<void> {
    for (const bystander of this.#bystanders) await bystander.moveIn(this.#others(bystander));
    // One of them lends to the stranger: that much may be spent, and no more.
    await this.#bystanders[0]?.actor.lend('here', this.#stranger.wallets[1]?.address ?? '', 10n ** 11n);
    this.#state.accept();
    await this.#stranger.moveIn();
    this.#count = 0;
    this.#operator = await this.#operatorState();
    this.#state.accept();
  }

  async all(): Promise<void> {
    const { requests, milliseconds = Number.POSITIVE_INFINITY } = this.#options;
    const from = performance.now();
    while (this.#count < requests && !this.#ended && performance.now() - from < milliseconds) {
      await this.#turn();
    }
    this.#seconds = (performance.now() - from) / 1_000;
    this.#blocks.close();
  }

  /** Time passes, a bystander does something, then the stranger tries. */
  async #turn(): Promise<void> {
    const random = this.#random;
    await this.#passTime();
    const bystander = random.pick(this.#bystanders);
    this.#begin(`${bystander.wallet.label} minds its own business`);
    await bystander.live(this.#others(bystander));
    this.#state.accept();
    for (const what of bystander.complaints.splice(0)) this.#hit([what]);
    for (let tried = 0; tried < scenariosPerTurn && !this.#ended; tried += 1) {
      if (this.#count >= this.#options.requests) return;
      await this.#try();
    }
    await this.#lookAtOperator();
  }

  /** Mostly moments; now and then so long that uploads in parts run out. */
  async #passTime(): Promise<void> {
    const { clock, services } = this.#world;
    const kind = this.#random.below(10);
    clock.advance(kind < 7 ? 5_000 : kind < 9 ? 70_000 : (sessionLifeSeconds + 10) * 1_000);
    if (kind < 9) return;
    // What has run out is removed behind the answers.
    const deadline = performance.now() + 3_000;
    const left = Object.values(services).map(({ ledger }) =>
      ledger.prepare('SELECT COUNT(*) AS n FROM upload_sessions WHERE expires_at <= ?'),
    );
    const some = () => left.some((statement) => Number(statement.get(clock.now)?.n) > 0);
    while (some() && performance.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 20));
  }

  async #try(): Promise<void> {
    const scenarios = this.#stranger.scenarios;
    let ticket = this.#random.below(scenarios.reduce((sum, [weight]) => sum + weight, 0));
    for (const [weight, name, attempt] of scenarios) {
      ticket -= weight;
      if (ticket >= 0) continue;
      this.#begin(name);
      try {
        await attempt();
      } finally {
        this.#stranger.reset();
      }
      const late = this.#state.breaches();
      if (late.length > 0) this.#hit(late);
      return;
    }
  }

  #begin(scenario: string): void {
    this.#scenario = scenario;
    this.#sent = [];
  }

  /** One request of the stranger, judged by its answer and by what it left behind. */
  async #send(call: Call, allowed?: Allowed): Promise<Answer> {
    this.#count += 1;
    const mark = `${this.#count}`;
    this.#world.clock.advance(tickMs);
    this.#sent.push(describe(call, this.#world));
    const answer = await this.#world.send({ ...call, headers: { ...call.headers, [requestMark]: mark } });
    if (answer === notSent) return answer;
    const last = this.#sent.length - 1;
    this.#sent[last] = `${this.#sent[last]} -> ${answer.status}`;
    const group = `${Math.floor(answer.status / 100)}xx`;
    this.#statuses[group] = (this.#statuses[group] ?? 0) + 1;
    const url = this.#world.watch.matched(mark);
    const found = [...this.#seen(call, answer, url, allowed), ...this.#state.breaches()];
    if (found.length > 0) this.#hit(found);
    return answer;
  }

  /** What an answer says that it must not. */
  #seen(call: Call, answer: Answer, url: string | undefined, allowed: Allowed | undefined): string[] {
    const found: string[] = [];
    const isGood = answer.status >= 200 && answer.status < 300;
    const route = this.#routes.find(
      (known) => known.base === call.base && known.url === url && known.method === call.method,
    );
    if (route !== undefined) {
      const name = `${route.service} ${route.server} ${route.method} ${route.url}`;
      this.#asked.set(name, isGood || this.#asked.get(name) === true);
      if (isGood && isProtected(route))
        found.push(`${route.method} ${route.url} answers without the operator's word`);
    }
    if (answer.status >= 500 && answer.status !== 503 && answer.status !== 502 && answer.status !== 504) {
      found.push(`${call.method} ${url} failed with ${answer.status}`);
    }
    const reader = this.#bystanders.find(({ wallet }) => wallet.address === walletOfToken(answer));
    if (reader !== undefined && reader.wallet.label !== allowed?.reads) {
      found.push(`a token that speaks for ${reader.wallet.label}`);
    }
    const headers = Object.values(answer.headers).join('\n');
    const secret = this.#secrets.in(answer.text) ?? this.#secrets.in(headers);
    const isOwn = allowed?.reads !== undefined && secret?.endsWith(`of ${allowed.reads}`);
    if (secret !== undefined && !isOwn) found.push(`the answer shows ${secret}`);
    return found;
  }

  #hit(what: readonly string[]): void {
    const kind = `${this.#scenario}: ${what.map(withoutNames).sort()[0]}`;
    if (this.#kinds.has(kind)) return;
    this.#kinds.add(kind);
    this.#hits.push({
      seed: this.#options.seed,
      request: this.#count,
      scenario: this.#scenario,
      what: [...what],
      requests: this.#sent.slice(-8),
    });
    if (this.#options.keepGoing !== true) this.#ended = true;
  }

  /** Blocks, quarantined gateways and jobs, which are the operator's alone. */
  async #lookAtOperator(): Promise<void> {
    const now = await this.#operatorState();
    if (now === this.#operator) return;
    this.#hit([`what the operator has set was ${this.#operator} and is ${now}`]);
    await this.#release();
    this.#operator = await this.#operatorState();
  }

  async #operatorState(): Promise<string> {
    const { here } = this.#world.services;
    const admin = (path: string) =>
      this.#operatorGet(here.urls.admin ?? '', path, operatorSecrets.ADMIN_TOKEN);
    const key = (path: string) =>
      this.#operatorGet(here.urls.gateway ?? '', path, operatorSecrets.ADMIN_API_KEY);
    const gateways = /"quarantined"/.test(await admin('/api/gateways')) ? 'quarantine' : 'no quarantine';
    const blocks = this.#blocks.prepare('SELECT kind, what FROM content_blocks ORDER BY kind, what').all();
    const exporting = /"status":"(\w+)"/.exec(await key('/gw/admin/export-parquet/status'))?.[1];
    return JSON.stringify({
      gateways,
      blocks,
      exporting,
      blocklist: entriesOf(join(here.folder, 'blocklist.json')),
    });
  }

  async #operatorGet(base: string, path: string, token: string): Promise<string> {
    return (
      await this.#world.send({ base, method: 'GET', path, headers: { authorization: `Bearer ${token}` } })
    ).text;
  }

  /** So that a run that goes on has a gateway again. */
  async #release(): Promise<void> {
    const { admin = '', gateway = '' } = this.#world.services.here.urls;
    await this.#world.send({
      base: admin,
      method: 'POST',
      path: '/api/gateways/release',
      headers: { authorization: `Bearer ${operatorSecrets.ADMIN_TOKEN}`, 'content-type': 'application/json' },
      body: JSON.stringify({ gateway }),
    });
  }

  /** The sums of both ledgers, by their own check. */
  async checkLedgers(): Promise<void> {
    for (const { folder, name } of Object.values(this.#world.services)) {
      const sql = await openLedgerDatabase({ DATABASE_URL: undefined, DATA_DIR: folder });
      try {
        const { ok, problems } = await createCredits({ sql }).selfCheck();
        this.#begin('the end');
        if (!ok) this.#hit([`the ledger ${name} does not add up: ${JSON.stringify(problems).slice(0, 300)}`]);
      } finally {
        await sql.close();
      }
    }
  }

  report(): Report {
    const all = new Set(
      this.#routes
        .filter(({ method }) => !['OPTIONS', 'TRACE', 'QUERY'].includes(method))
        .map((route) => `${route.service} ${route.server} ${route.method} ${route.url}`),
    );
    return {
      seed: this.#options.seed,
      requests: this.#count,
      seconds: this.#seconds || (performance.now() - this.#started) / 1_000,
      hits: this.#hits,
      asked: [...all].filter((name) => this.#asked.has(name)).length,
      routes: all.size,
      notAsked: [...all].filter((name) => !this.#asked.has(name)),
      succeeded: [...this.#asked.values()].filter(Boolean).length,
      statuses: this.#statuses,
    };
  }

  #others(bystander: Bystander): string[] {
    return this.#bystanders.filter((one) => one !== bystander).map(({ wallet }) => wallet.address);
  }
}

/** Routes that only the operator, or the card provider's merchant, may use. */
export function isProtected({ server, url }: Pick<Route, 'server' | 'url'>): boolean {
  switch (server) {
    case 'admin':
      return url.startsWith('/api/');
    case 'gateway':
      return /^\/(?:gw|ar-io)\/admin/.test(url);
    case 'payment':
    case 'upload':
      return /^\/v1\/admin/.test(url);
    case 'router':
      return /^\/(?:router|wayfinder)\/moderation\/(?!check)/.test(url);
    case 'card':
      return url.startsWith('/v1/') || url.startsWith('/test/');
    default:
      return false;
  }
}

function describe(call: Call, world: World): string {
  const named = Object.values(world.services).flatMap((service) =>
    Object.entries(service.urls).map(([server, base]) => ({ base, name: `${server} ${service.name}` })),
  );
  const server = named.find(({ base }) => base === call.base)?.name ?? call.base;
  const headers = Object.entries(call.headers ?? {}).map(
    ([name, value]) => `${name}: ${String(value).slice(0, 90)}`,
  );
  const body =
    call.body === undefined
      ? ''
      : typeof call.body === 'string'
        ? ` ${call.body.slice(0, 200)}`
        : ` (${call.body.length} bytes)`;
  return `${server}: ${call.method} ${call.path.slice(0, 300)} {${headers.join(', ')}}${body}`;
}

/** The wallet that a token in an answer speaks for. */
function walletOfToken({ headers }: Answer): string | undefined {
  const claims = /^Bearer [^.]+\.([^.]+)\./.exec(String(headers.authorization ?? ''))?.[1];
  if (claims === undefined) return undefined;
  const parsed: unknown = JSON.parse(Buffer.from(claims, 'base64url').toString());
  return typeof parsed === 'object' && parsed !== null
    ? String(Reflect.get(parsed, 'walletAddress'))
    : undefined;
}

/** What kind of thing happened, whoever it happened to. */
function withoutNames(text: string): string {
  return text
    .replace(/\b(?:ada|eve|sol)\b/g, 'somebody')
    .replace(/\b(?:here|there)\b/g, '…')
    .replace(/[0-9a-zA-Z_-]{20,}|[0-9]+/g, '…');
}

function entriesOf(path: string): string {
  try {
    const list: unknown = JSON.parse(readFileSync(path, 'utf8'));
    return JSON.stringify(typeof list === 'object' && list !== null ? Reflect.get(list, 'entries') : list);
  } catch {
    return 'none';
  }
}
