/** Holds one answer about content against what was published, named and blocked: no byte and no word of it may be wrong. */
import { createHash } from 'node:crypto';
import { textOf, tryParseJson } from '../../../src/formats/json.ts';
import { withCharset } from '../../../src/formats/media-type.ts';
import { parseRange, type Span } from '../../../src/kernel/http/byte-ranges.ts';
import { strongETag } from '../../../src/kernel/http/conditional.ts';
import { short } from '../arweave.ts';
import type { World } from '../world.ts';
import type { Told } from './asking.ts';
import type { Blocks, Way } from './blocks.ts';
import type { ReadingServer } from './installation.ts';
import type { Entry, Library } from './library.ts';
import { longestTtlMs, type Registry, type Target } from './registry.ts';

/** What a reader asks a server for. */
export interface Question {
  readonly server: ReadingServer;
  readonly method: 'GET' | 'HEAD';
  readonly host: string;
  readonly path: string;
  /** An id, or a label in the host. */
  readonly of: { readonly id: string } | { readonly label: string };
  /** Below it, where manifests are resolved; undefined: the bytes as they are. */
  readonly below: string | undefined;
  readonly range?: string;
  readonly ifNoneMatch?: string;
}

export interface JudgeOptions {
  readonly world: World;
  readonly library: Library;
  readonly registry: Registry;
  readonly blocks: Blocks;
  /** Ids that could be read everywhere one evening. */
  readonly settled: ReadonlyMap<string, number>;
  readonly isCalm: () => boolean;
  /** Since when nothing is wrong; undefined while something is. */
  readonly quietSince: () => number | undefined;
  /** Whether routers have gateways enough to learn where a name points, which the operator's own may refuse to say. */
  readonly canAgree: (at: number, isRefused: boolean) => boolean;
}

const second = 1_000;
const minute = 60 * second;
/** A router believes gateways that believe the registry, and asks again while it still answers. */
const routerNameMs = 10 * minute + 30 * second;
const gatewayNameMs = 10 * second;
/** That there is no such name is forgotten within this, whatever goes wrong. */
const absentNameMs = 45 * minute;

export class Judge {
  readonly #options: JudgeOptions;

  constructor(options: JudgeOptions) {
    this.#options = options;
  }

  /** What is wrong with an answer to what was asked at that time; undefined where nothing is. */
  judge(question: Question, answer: Told, askedAt: number): string | undefined {
    const wrong = this.#judge(question, answer, askedAt);
    if (wrong === undefined) return undefined;
    const { server, method, host, path, range, ifNoneMatch } = question;
    const more = [range, ifNoneMatch && `if-none-match ${ifNoneMatch}`].filter((text) => text !== undefined);
    const asked = [`${method} ${host}${path}`, ...more].join(', ');
    return `${server.process.name}, ${asked}: ${answer.status}, ${wrong}`;
  }

  #judge(question: Question, answer: Told, askedAt: number): string | undefined {
    const { status } = answer;
    // Whoever cannot tell says so.
    if (status >= 500) return this.#failed(question, askedAt);
    const named = 'label' in question.of ? resolvedOf(answer) : undefined;
    if ('label' in question.of && named !== undefined) {
      const wrong = this.#name(question.server, question.of.label, named, askedAt);
      if (wrong !== undefined) return wrong;
    }
    const id = 'id' in question.of ? question.of.id : named;
    const way = this.#way(question, id);
    switch (status) {
      case 200:
      case 206:
      case 304:
      case 416: {
        const because = this.#options.blocks.mustRefuse(question.server, way, askedAt);
        if (because !== undefined && status !== 416) return because;
        const entry = way.entries.at(-1);
        if (entry === undefined || (question.below !== undefined && !this.#isReached(question, id)))
          return 'nobody published it';
        return content(question, answer, entry);
      }
      case 301:
      case 302:
        return undefined;
      case 403:
      case 451:
        return this.#options.blocks.mayRefuse(this.#anyWay(question, way), askedAt)
          ? undefined
          : 'nobody blocked it';
      case 404:
        return this.#absent(question, answer, way, named, askedAt);
      default:
        return `no answer to a reader: ${answer.body.toString().slice(0, 200)}`;
    }
  }

  #way({ of, below }: Question, id: string | undefined): Way {
    const { library } = this.#options;
    const label = 'label' in of ? of.label : undefined;
    const entry = id === undefined ? undefined : library.entries.get(id);
    if (entry === undefined) return { label, entries: [] };
    return { label, entries: below === undefined ? [entry] : library.resolve(entry.id, below).way };
  }

  /** Who refuses a name does not say where it points: it may be any of what it pointed at. */
  #anyWay({ of, below = '' }: Pick<Question, 'of'> & { readonly below?: Question['below'] }, way: Way): Way {
    const { library, registry } = this.#options;
    if ('id' in of || way.entries.length > 0) return way;
    const targets = registry.since(of.label, 0);
    return { ...way, entries: targets.flatMap(({ id }) => library.resolve(id, below).way) };
  }

  #isReached({ below = '' }: Question, id: string | undefined): boolean {
    return id !== undefined && this.#options.library.resolve(id, below).entry !== undefined;
  }

  /** Where nothing has been wrong for a while, what could be read before can be read now. */
  #failed({ of }: Question, askedAt: number): string | undefined {
    const { isCalm, settled, quietSince } = this.#options;
    const since = quietSince();
    if (!isCalm() || since === undefined || askedAt - since < 2 * minute) return undefined;
    return 'id' in of && settled.has(of.id) ? 'and nothing is wrong' : undefined;
  }

  #name(server: ReadingServer, label: string, id: string, askedAt: number): string | undefined {
    if (this.#targets(server, label, askedAt).some((target) => target.id === id)) return undefined;
    const was = this.#options.registry.since(label, 0).some((target) => target.id === id);
    return was
      ? `${label} has not pointed at ${short(id)} for ${nameBound(server) / minute} minutes`
      : `${label} never pointed at ${short(id)}`;
  }

  /** What a server that was asked at that time may believe a name to point at. */
  #targets(server: ReadingServer, label: string, askedAt: number): readonly Target[] {
    const { registry, blocks, quietSince, canAgree } = this.#options;
    const since = quietSince();
    const isRefused = blocks.mayRefuse(this.#anyWay({ of: { label } }, { label, entries: [] }), askedAt);
    const bound = nameBound(server);
    const isQuiet =
      since !== undefined &&
      askedAt - since > bound &&
      (server.kind !== 'router' || canAgree(askedAt - bound, isRefused));
    return registry.since(label, isQuiet ? askedAt - bound : 0);
  }

  #absent(
    question: Question,
    { headers }: Told,
    way: Way,
    named: string | undefined,
    askedAt: number,
  ): string | undefined {
    const { settled, registry, blocks } = this.#options;
    if ('label' in question.of && named === undefined) {
      const { label } = question.of;
      // Where a name points at no manifest, a router does not say to what the path does not lead.
      const isReached = this.#targets(question.server, label, askedAt).every(({ id }) =>
        this.#isReached(question, id),
      );
      return isReached &&
        registry.stood(label, askedAt - absentNameMs) &&
        !blocks.mayRefuse({ label, entries: [] }, askedAt)
        ? `${label} has pointed somewhere for long`
        : undefined;
    }
    if (question.below !== undefined && !this.#isReached(question, way.entries[0]?.id)) return undefined;
    const isKept = !/no-store/.test(headers['cache-control'] ?? '');
    const last = way.entries.at(-1);
    return isKept && last !== undefined && settled.has(last.id) && settled.has(way.entries[0]?.id ?? '')
      ? 'for what could be read before, and caches may keep it'
      : undefined;
  }
}

const nameBound = ({ kind }: ReadingServer): number =>
  longestTtlMs + (kind === 'router' ? routerNameMs : gatewayNameMs);

/** What a name was found to point at; a router says it in the body where a manifest has no such path. */
function resolvedOf({ headers, body }: Told): string | undefined {
  return headers['x-arns-resolved-id'] ?? textOf(tryParseJson(body.toString()), 'txId');
}

function content(question: Question, { status, headers, body }: Told, entry: Entry): string | undefined {
  const { method, range, ifNoneMatch } = question;
  const { bytes, digest } = entry;
  const etag = strongETag(digest);
  if (headers.etag !== undefined && headers.etag !== etag) return `the entity tag is ${headers.etag}`;
  if (status === 304) return ifNoneMatch === etag ? undefined : 'the reader has something else';
  const told = headers['x-ar-io-digest'];
  if (told !== undefined && told !== digest) return `the digest is ${told}`;
  const standard = headers['repr-digest'];
  if (standard !== undefined && standard !== standardOf(bytes)) return `the standard digest is ${standard}`;
  if (status === 416) {
    const isRight = range !== undefined && parseRange(range, bytes.length).kind === 'unsatisfiable';
    return isRight ? undefined : 'there is such a range';
  }
  if (status === 200) return ofType(entry, headers) ?? ofBody(method, headers, body, bytes);
  const wanted = range === undefined ? undefined : parseRange(range, bytes.length);
  if (wanted?.kind !== 'ranges') return 'no part was asked for';
  const [span] = wanted.spans;
  if (wanted.spans.length > 1) return ofParts(headers, body, bytes, wanted.spans);
  const right = `bytes ${span.start}-${span.end - 1}/${bytes.length}`;
  if (headers['content-range'] !== right) return `the range is ${headers['content-range']}, and not ${right}`;
  return ofType(entry, headers) ?? ofBody(method, headers, body, bytes.subarray(span.start, span.end));
}

function ofBody(
  method: string,
  headers: Readonly<Record<string, string>>,
  body: Buffer,
  right: Buffer,
): string | undefined {
  const length = headers['content-length'];
  if (length !== undefined && length !== String(right.length))
    return `the length is ${length}, and not ${right.length}`;
  if (method === 'HEAD') return body.length === 0 ? undefined : 'a body without being asked for one';
  return body.equals(right) ? undefined : `other bytes (${body.length} of ${right.length})`;
}

/** What nobody can prove is said to be of no type at all. */
function ofType({ contentType }: Entry, headers: Readonly<Record<string, string>>): string | undefined {
  const told = headers['content-type'];
  const right = withCharset(contentType ?? untyped);
  const method = headers['x-router-verification-method'];
  const isUnproven =
    headers['x-router-verified'] === 'false' || (method !== undefined && method !== 'signature');
  return told === right || (isUnproven && told === untyped)
    ? undefined
    : `the type is ${told}, and not ${right}`;
}

const untyped = 'application/octet-stream';

function ofParts(
  headers: Readonly<Record<string, string>>,
  body: Buffer,
  bytes: Buffer,
  spans: readonly Span[],
): string | undefined {
  const boundary = /^multipart\/byteranges; boundary=(.+)$/.exec(headers['content-type'] ?? '')?.[1];
  if (boundary === undefined) return `the type is ${headers['content-type']}`;
  const text = body.toString('latin1');
  let at = 0;
  for (const { start, end } of spans) {
    const head = text.indexOf('\r\n\r\n', at);
    const lines = text.slice(at, head);
    if (
      head === -1 ||
      !lines.includes(`--${boundary}`) ||
      !lines.includes(`bytes ${start}-${end - 1}/${bytes.length}`)
    )
      return `no part has the bytes from ${start} to ${end}`;
    at = head + 4 + end - start;
    if (!body.subarray(head + 4, at).equals(bytes.subarray(start, end))) return 'other bytes in a part';
  }
  return text.slice(at).trim() === `--${boundary}--` ? undefined : 'more than the parts that were asked for';
}

const standardOf = (bytes: Buffer): string =>
  `sha-256=:${createHash('sha256').update(bytes).digest('base64')}:`;
