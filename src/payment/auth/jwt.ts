/**
 * JSON Web Tokens as this service issues them after a verified signature and takes them on reading routes:
 * HS256 and nothing else (RFC 7515, RFC 7519). A token is worth what a signed nonce is: it identifies a
 * reader for an hour and moves nothing.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { isRecord, tryParseJson } from '../../formats/json.ts';

const LIFE_SECONDS = 3600;
/** In the address of an event stream, where proxies and histories may keep it. */
export const TICKET_SECONDS = 60;

/** The audience keeps tokens apart that are good for different things, and from any other made with the same secret. */
export type Audience = 'balance' | 'events';
const MAX_TOKEN_LENGTH = 1_024;
const header = encode({ alg: 'HS256', typ: 'JWT' });

export function issueToken(
  secret: string,
  walletAddress: string,
  nowSeconds: number,
  audience: Audience = 'balance',
): string {
  const life = audience === 'events' ? TICKET_SECONDS : LIFE_SECONDS;
  const claims = { walletAddress, iat: nowSeconds, exp: nowSeconds + life, aud: audience };
  return signToken(secret, claims);
}

export function signToken(secret: string, claims: object): string {
  const signed = `${header}.${encode(claims)}`;
  return `${signed}.${signature(secret, signed).toString('base64url')}`;
}

/** The wallet a token speaks for; undefined when it is forged, expired, or made for something else. */
export function readToken(
  secret: string,
  token: string,
  nowSeconds: number,
  audience: Audience = 'balance',
): string | undefined {
  if (token.length > MAX_TOKEN_LENGTH) return undefined;
  const [head, body, signed, ...more] = token.split('.');
  if (head === undefined || body === undefined || signed === undefined || more.length > 0) return undefined;
  const expected = signature(secret, `${head}.${body}`);
  const given = Buffer.from(signed, 'base64url');
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined;
  if (decode(head)?.alg !== 'HS256') return undefined;
  const { walletAddress, exp, aud } = decode(body) ?? {};
  if (typeof walletAddress !== 'string' || typeof exp !== 'number' || aud !== audience) return undefined;
  return exp > nowSeconds ? walletAddress : undefined;
}

const signature = (secret: string, text: string): Buffer =>
  createHmac('sha256', secret).update(text).digest();

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

function decode(part: string): Record<string, unknown> | undefined {
  const value = tryParseJson(Buffer.from(part, 'base64url').toString('utf8'));
  return isRecord(value) ? value : undefined;
}
