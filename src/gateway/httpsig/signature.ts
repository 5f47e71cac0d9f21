/** The signature base of an answer, and the two headers that carry a signature (RFC 9421 §2.5, §4). */

export interface AnswerHead {
  readonly status: number;
  /** In the order they are sent, names in lower case; a name may come more than once. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** What was asked for, where the answer is bound to it. */
  readonly request: { readonly method: string; readonly path: string } | undefined;
}

export interface SignatureParameters {
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

/** The base to sign and the value of `Signature-Input` after `sig1=`. */
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
