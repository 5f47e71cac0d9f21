/** Signs answers as their heads leave, whichever part made them. An answer that cannot be signed is sent without a signature. */
import { createPublicKey, sign } from 'node:crypto';
import type { OutgoingHttpHeader, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { encodeBase58 } from '../../formats/base58.ts';
import type { App, Request } from '../../kernel/http/server.ts';
import type { Part } from '../../kernel/part.ts';
import type { GatewayContext } from '../chain/context.ts';
import { readObserverKey } from '../observer-key.ts';

type Pair = readonly [string, string];

export interface SignaturePart extends Part {
  /** Its part of `/gw/info`. */
  info(): object;
}

interface Signer {
  readonly keyId: string;
  readonly publicKey: string;
  sign(base: string): string;
}

export function createSignaturePart({
  config,
  log,
  metrics,
}: Pick<GatewayContext, 'config' | 'log' | 'metrics'>): SignaturePart {
  if (!config.HTTPSIG_ENABLED) return { name: 'signatures', info: () => ({}) };
  const signed = metrics.plainCounter('httpsig_signed_total', 'Answers signed');
  const failed = metrics.plainCounter('httpsig_errors_total', 'Answers that could not be signed');
  let signer: Signer | undefined;

  function signatureHeaders(status: number, headers: readonly Pair[], request: Request): Pair[] {
    const covered = signer === undefined ? undefined : coveredHeaders(headers);
    if (signer === undefined || covered === undefined) return [];
    const path = request.url.split('?', 1)[0] ?? '/';
    const head: AnswerHead = {
      status,
      headers,
      request: config.HTTPSIG_BIND_REQUEST ? { method: request.method, path } : undefined,
    };
    const created = Math.floor(Date.now() / 1000);
    const { base, input } = signatureBase(head, covered, { created, keyId: signer.keyId });
    signed.add();
    return [
      ['signature-input', `sig1=${input}`],
      ['signature', `sig1=:${signer.sign(base)}:`],
    ];
  }

  function signHead(raw: ServerResponse, request: Request): void {
    const { writeHead } = raw;
    raw.writeHead = (status: number, ...rest: unknown[]): ServerResponse => {
      const given = rest.at(-1);
      const headers = [...pairsOf(raw.getHeaders()), ...pairsOf(given)].filter(
        ([name]) => !isSignature(name),
      );
      try {
        headers.push(...signatureHeaders(status, headers, request));
      } catch (error) {
        failed.add();
        log.warn({ err: error }, 'an answer was not signed');
      }
      for (const name of raw.getHeaderNames()) raw.removeHeader(name);
      return writeHead.call(raw, status, headers.flat());
    };
  }

  return {
    name: 'signatures',
    routes(app: App) {
      app.addHook('onRequest', (request, reply, done) => {
        signHead(reply.raw, request);
        done();
      });
    },
    async start() {
      const key = await readObserverKey(config);
      const { x = '' } = createPublicKey(key).export({ format: 'jwk' });
      signer = {
        keyId: `ed25519:${x}`,
        publicKey: x,
        sign: (base) => sign(null, Buffer.from(base), key).toString('base64'),
      };
    },
    info() {
      if (signer === undefined) return {};
      const { keyId, publicKey } = signer;
      const solanaAddress = encodeBase58(Buffer.from(publicKey, 'base64url'));
      return { httpsig: { algorithm: 'ed25519', keyId, publicKey, solanaAddress } };
    },
  };
}

/** What an upstream gateway signed is not ours to repeat. */
function isSignature(name: string): boolean {
  return name === 'signature' || name === 'signature-input';
}

/** Headers in any of the forms that `writeHead` takes, names in lower case. */
function pairsOf(headers: unknown): Pair[] {
  const pairs: Pair[] = [];
  const add = (name: unknown, value: unknown): void => {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined) pairs.push([String(name).toLowerCase(), String(one)]);
    }
  };
  if (Array.isArray(headers)) {
    for (let at = 0; at < headers.length; at += 2) add(headers[at], headers[at + 1]);
  } else if (isHeaders(headers)) {
    for (const [name, value] of Object.entries(headers)) add(name, value);
  }
  return pairs;
}

function isHeaders(value: unknown): value is OutgoingHttpHeaders | Record<string, OutgoingHttpHeader> {
  return typeof value === 'object' && value !== null;
}

interface AnswerHead {
  readonly status: number;
  /** In the order they are sent, names in lower case; a name may come more than once. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** What was asked for, where the answer is bound to it. */
  readonly request: { readonly method: string; readonly path: string } | undefined;
}

interface SignatureParameters {
  /** Unix seconds. */
  readonly created: number;
  readonly keyId: string;
}

/** Says something about data, a name, a chunk or an index: an answer with one of these is signed. */
const triggers = new Set([
  ...['data-id', 'verified', 'stable', 'trusted', 'root-transaction-id', 'chunk-source-type'].map(
    (name) => `x-ar-io-${name}`,
  ),
  ...['index-publication', 'index-file', 'index-feed'].map((name) => `x-ar-io-${name}`),
  ...['owner-address', 'tags-truncated', 'chunk-data-root', 'chunk-tx-id'].map((name) => `x-arweave-${name}`),
  ...['name', 'resolved-id', 'ttl-seconds', 'ant-id', 'ant-program-id', 'process-id'].map(
    (name) => `x-arns-${name}`,
  ),
]);
/** Signed with them. */
const companions = new Set(['content-type', 'content-digest', 'repr-digest']);
const tagPrefix = 'x-arweave-tag-';

/** The signed headers' names in order, without doubles; undefined where nothing calls for a signature. */
export function coveredHeaders(headers: AnswerHead['headers']): string[] | undefined {
  const covered = new Set<string>();
  let isTriggered = false;
  for (const [name] of headers) {
    if (triggers.has(name)) isTriggered = true;
    else if (!companions.has(name) && !(name.startsWith(tagPrefix) && name !== 'x-arweave-tag-count'))
      continue;
    covered.add(name);
  }
  return isTriggered ? [...covered] : undefined;
}

/** The base to sign (RFC 9421 §2.5) and the value of `Signature-Input` after `sig1=`. */
export function signatureBase(
  head: AnswerHead,
  covered: readonly string[],
  { created, keyId }: SignatureParameters,
): { readonly base: string; readonly input: string } {
  const lines: [component: string, value: string][] = [['"@status"', String(head.status)]];
  for (const name of covered) lines.push([`"${name}"`, fieldValue(head.headers, name)]);
  if (head.request !== undefined) {
    lines.push(['"@method";req', head.request.method], ['"@path";req', head.request.path]);
  }
  const components = lines.map(([component]) => component).join(' ');
  const input = `(${components});created=${created};keyid="${keyId}";alg="ed25519"`;
  const text = lines.map(([component, value]) => `${component}: ${value}`);
  return { base: [...text, `"@signature-params": ${input}`].join('\n'), input };
}

function fieldValue(headers: AnswerHead['headers'], wanted: string): string {
  const values: string[] = [];
  for (const [name, value] of headers)
    if (name === wanted) values.push(value.trim().replace(/\s*\n\s*/g, ' '));
  return values.join(', ');
}
