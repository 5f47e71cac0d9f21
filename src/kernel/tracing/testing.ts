/** A collector for tests: takes OTLP/HTTP JSON as one does, and refuses what breaks the public schema. */
import { createServer } from 'node:http';

export interface CollectedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly name: string;
  readonly kind: number;
  readonly start: bigint;
  readonly end: bigint;
  readonly attributes: Readonly<Record<string, string | bigint | number | boolean>>;
  readonly error: string | undefined;
  readonly resource: Readonly<Record<string, string | bigint | number | boolean>>;
}

export interface Collector {
  readonly url: string;
  readonly spans: CollectedSpan[];
  /** What was wrong with what came. */
  readonly faults: string[];
  /** Headers of the requests. */
  readonly headers: NodeJS.Dict<string | string[]>[];
  /** The status that is answered; 200 in the beginning. */
  answer: number;
  stop(): Promise<void>;
}

export async function startCollector(): Promise<Collector> {
  const spans: CollectedSpan[] = [];
  const faults: string[] = [];
  const headers: NodeJS.Dict<string | string[]>[] = [];
  const server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      headers.push(request.headers);
      let status = collector.answer;
      try {
        if (request.method !== 'POST' || request.url !== '/v1/traces')
          throw new Error(`asked ${request.url}`);
        if (request.headers['content-type'] !== 'application/json') throw new Error('no JSON');
        const found = decode(JSON.parse(Buffer.concat(pieces).toString('utf8')));
        if (status === 200) spans.push(...found);
      } catch (error) {
        faults.push(String(error));
        status = 400;
      }
      response.writeHead(status, { 'content-type': 'application/json' }).end('{}');
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const collector: Collector = {
    url: `http://127.0.0.1:${port}`,
    spans,
    faults,
    headers,
    answer: 200,
    async stop() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
  return collector;
}

type Json = Readonly<Record<string, unknown>>;

/** By opentelemetry-proto's trace.proto and its JSON mapping: only fields that it has, each of its form. */
function decode(body: unknown): CollectedSpan[] {
  return items(fields(body, ['resourceSpans']).resourceSpans).flatMap((entry) => {
    const { resource, scopeSpans } = fields(entry, ['resource', 'scopeSpans', 'schemaUrl']);
    const resourceAttributes = attributes(
      fields(resource, ['attributes', 'droppedAttributesCount']).attributes,
    );
    return items(scopeSpans).flatMap((scoped) => {
      const { scope, spans } = fields(scoped, ['scope', 'spans', 'schemaUrl']);
      text(fields(scope, ['name', 'version']).name, /./);
      return items(spans).map((span) => decodeSpan(span, resourceAttributes));
    });
  });
}

function decodeSpan(value: unknown, resource: CollectedSpan['resource']): CollectedSpan {
  const span = fields(value, [
    ...['traceId', 'spanId', 'parentSpanId', 'flags', 'name', 'kind', 'startTimeUnixNano', 'endTimeUnixNano'],
    ...['attributes', 'status', 'traceState', 'events', 'links'],
    ...['droppedAttributesCount', 'droppedEventsCount', 'droppedLinksCount'],
  ]);
  const status = fields(span.status ?? {}, ['code', 'message']);
  const kind = span.kind;
  if (typeof kind !== 'number' || !(kind >= 1 && kind <= 5)) throw new Error(`kind ${String(kind)}`);
  if (typeof span.flags !== 'number') throw new Error('flags are no number');
  const start = BigInt(text(span.startTimeUnixNano, /^[0-9]{19}$/));
  const end = BigInt(text(span.endTimeUnixNano, /^[0-9]{19}$/));
  if (end < start) throw new Error('it ends before it starts');
  return {
    traceId: text(span.traceId, /^(?!0{32})[0-9a-f]{32}$/),
    spanId: text(span.spanId, /^(?!0{16})[0-9a-f]{16}$/),
    parentSpanId: span.parentSpanId === undefined ? undefined : text(span.parentSpanId, /^[0-9a-f]{16}$/),
    name: text(span.name, /./),
    kind,
    start,
    end,
    attributes: attributes(span.attributes),
    error: status.code === 2 ? text(status.message, /./) : undefined,
    resource,
  };
}

function attributes(value: unknown): Record<string, string | bigint | number | boolean> {
  const found: Record<string, string | bigint | number | boolean> = {};
  for (const entry of items(value)) {
    const { key, value } = fields(entry, ['key', 'value']);
    const name = text(key, /./);
    if (name in found) throw new Error(`${name} twice`);
    found[name] = attributeValue(value);
  }
  return found;
}

function attributeValue(value: unknown): string | bigint | number | boolean {
  const kinds = fields(value, ['stringValue', 'intValue', 'boolValue', 'doubleValue']);
  const [entry, ...more] = Object.entries(kinds);
  if (entry === undefined || more.length > 0) throw new Error('a value has one kind');
  const [kind, plain] = entry;
  // The JSON mapping of 64-bit integers is text; readers take numbers, too.
  if (kind === 'intValue') return BigInt(text(String(plain), /^-?[0-9]+$/));
  if (kind === 'stringValue' && typeof plain === 'string') return plain;
  if (kind === 'boolValue' && typeof plain === 'boolean') return plain;
  if (kind === 'doubleValue' && typeof plain === 'number') return plain;
  throw new Error(`${kind} of ${typeof plain}`);
}

function fields(value: unknown, known: readonly string[]): Json {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error('no object');
  const found = Object.fromEntries(Object.entries(value));
  for (const name of Object.keys(found)) if (!known.includes(name)) throw new Error(`there is no ${name}`);
  return found;
}

function items(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw new Error('no list');
  return value;
}

function text(value: unknown, form: RegExp): string {
  if (typeof value !== 'string' || !form.test(value)) throw new Error(`${String(value)} is not ${form}`);
  return value;
}
