/** What a gateway shows for a name: asked as its readers would ask, by a HEAD of the name's own host where it has one. */
import { isIP } from 'node:net';
import { memberOf, tryParseJson } from '../formats/json.ts';
import { messageOf } from '../kernel/errors.ts';
import { type HttpAnswer, type HttpClient, OutsideUnavailable } from './http.ts';

export type ShownName =
  | {
      readonly state: 'shown';
      readonly id: string;
      /** As the record says; undefined where the gateway does not tell, as below. */
      readonly ttlSeconds: number | undefined;
      /** Unix milliseconds of when it asked for the name itself. */
      readonly resolvedAt: number | undefined;
      /** How long a cache in between has had the answer. */
      readonly ageSeconds: number | undefined;
    }
  /** It knows no such name. */
  | { readonly state: 'absent' }
  | { readonly state: 'silent'; readonly problem: string };

const resolvedId = /^[A-Za-z0-9_-]{1,128}$/;
const maxAnswerBytes = 64 * 1024;

/** `origin` without a path. `label`: the name, or `{undername}_{name}`. Never throws. */
export async function nameAtGateway(
  client: HttpClient,
  origin: string,
  label: string,
  timeoutMs: number,
): Promise<ShownName> {
  const { protocol, host, hostname } = new URL(origin);
  const isAddress = isIP(hostname.replace(/^\[|\]$/g, '')) !== 0 || hostname === 'localhost';
  const atHost = isAddress
    ? undefined
    : await ask(client, `${protocol}//${label}.${host}/`, 'HEAD', timeoutMs);
  if (atHost?.state === 'shown') return atHost;
  // A gateway without hosts of names, or whose content is away, still says where the name leads.
  const told = await ask(client, `${origin}/ar-io/resolver/${encodeURIComponent(label)}`, 'GET', timeoutMs);
  return told.state === 'silent' && atHost !== undefined ? atHost : told;
}

async function ask(
  client: HttpClient,
  url: string,
  method: 'GET' | 'HEAD',
  timeoutMs: number,
): Promise<ShownName> {
  try {
    return read(await client.call(url, { method, timeoutMs, maxBytes: maxAnswerBytes }));
  } catch (error) {
    return { state: 'silent', problem: problemOf(error) };
  }
}

/** Who it is stands beside it. */
function problemOf(error: unknown): string {
  if (!(error instanceof OutsideUnavailable)) return messageOf(error);
  return error.isTimeout ? 'did not answer in time' : 'did not answer';
}

function read({ status, headers, body }: HttpAnswer): ShownName {
  const document = status === 200 && body.length > 0 ? tryParseJson(body.toString()) : undefined;
  const either = (header: string, member: string): string | undefined => {
    const value = headers[header] ?? memberOf(document, member);
    return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
  };
  const id = either('x-arns-resolved-id', 'txId');
  if (id !== undefined && resolvedId.test(id)) {
    return {
      state: 'shown',
      id,
      ttlSeconds: countOf(either('x-arns-ttl-seconds', 'ttlSeconds')),
      resolvedAt: countOf(either('x-arns-resolved-at', 'resolvedAt')),
      ageSeconds: countOf(either('age', '')),
    };
  }
  // A page of the gateway's own in place of a name that nobody registered carries no id.
  return status === 404 ? { state: 'absent' } : { state: 'silent', problem: `answered ${status}` };
}

const countOf = (text: string | undefined): number | undefined =>
  text !== undefined && /^[0-9]{1,15}$/.test(text) ? Number(text) : undefined;
