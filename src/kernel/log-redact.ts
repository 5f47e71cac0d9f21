/** What must never reach a log line, found by the name of a field and by the shape of a text. */
import { EventEmitter } from 'node:events';

const redacted = '[hidden]';
const depthLimit = 6;
const breadthLimit = 100;

/** Compared without case and punctuation: `x-payment`, `X_PAYMENT` and `xPayment` are one name. */
const names = new Set([
  'authorization',
  'proxyauthorization',
  'cookie',
  'setcookie',
  'xpayment',
  'paymentsignature',
  'stripesignature',
  'auth',
  'jwt',
  'jwk',
  'key',
  'keys',
  'pem',
  'seed',
  'mnemonic',
]);
const part =
  /secret|password|passwd|passphrase|token|credential|(?:api|private|secret|admin|signing|access|encryption|service)key/;
/** The private members of a JSON Web Key (RFC 7517, RFC 7518 §6.3.2), redacted wherever `kty` stands beside them. */
const privateJwkMembers = new Set(['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']);

export function isSecretName(name: string): boolean {
  const plain = name.toLowerCase().replace(/[^a-z0-9]/g, '');
  return names.has(plain) || part.test(plain);
}

/**
 * A copy fit for a log: secrets redacted, big integers as decimal text, bytes as their length, depth and breadth
 * bounded. Errors are left to pino's own serializer, whose outcome comes through here again.
 */
export function redactSecrets(value: Record<string, unknown>): Record<string, unknown> {
  return copyObject(value, 0);
}

function copyObject(value: object, depth: number): Record<string, unknown> {
  const isJwk = 'kty' in value;
  const copy: Record<string, unknown> = {};
  let count = 0;
  for (const [name, member] of Object.entries(value)) {
    if (++count > breadthLimit) {
      copy['…'] = 'more fields';
      break;
    }
    const secret = isSecretName(name) || (isJwk && privateJwkMembers.has(name));
    copy[name] = secret && isRedactable(member) ? redacted : copyValue(member, depth + 1);
  }
  return copy;
}

/** Counts and switches are no secrets: `tokenCount: 3` stays readable. */
function isRedactable(value: unknown): boolean {
  return value !== undefined && value !== null && typeof value !== 'number' && typeof value !== 'boolean';
}

function copyValue(value: unknown, depth: number): unknown {
  if (typeof value === 'bigint') return value.toString();
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Error) {
    return depth === 1 ? value : { type: value.name, message: value.message, stack: value.stack };
  }
  if (ArrayBuffer.isView(value)) return `${value.byteLength} bytes`;
  if (value instanceof Date || value instanceof URL) return value.toString();
  // Sockets, requests and streams refer to half the program.
  if (value instanceof EventEmitter) return `[${value.constructor.name}]`;
  if (depth > depthLimit) return '…';
  if (Array.isArray(value)) {
    const some = value.slice(0, breadthLimit).map((member) => copyValue(member, depth + 1));
    return value.length > breadthLimit ? [...some, `… ${value.length - breadthLimit} more`] : some;
  }
  if (value instanceof Map) return copyObject(Object.fromEntries(value), depth);
  if (value instanceof Set) return copyValue([...value], depth);
  return copyObject(value, depth);
}

const credentialsInUrl = /(:\/\/[^\s"/:@]*):[^\s"/@]+@/g;
const bearer = /\b(Bearer|Basic) +[\w.~+/=-]{8,}/gi;
const privatePem = /-----BEGIN ([A-Z ]*PRIVATE KEY)-----[\s\S]*?-----END \1-----/g;

/** Credentials inside running text: an address with a password, a bearer token, a private key in PEM. */
export function redactText(line: string): string {
  return line
    .replace(credentialsInUrl, `$1:${redacted}@`)
    .replace(bearer, `$1 ${redacted}`)
    .replace(privatePem, redacted);
}
