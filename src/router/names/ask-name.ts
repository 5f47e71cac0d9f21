/** Asks one gateway what a name points at. */
import { availabilityOf } from '../../delivery/availability.ts';
import { memberOf } from '../../formats/json.ts';
import { messageOf } from '../../kernel/errors.ts';
import { headerOf } from '../../outside/answer-head.ts';
import { discard, type Gateway, readBody } from '../gateways/gateway.ts';
import type { Vote } from './consensus.ts';

const answerLimit = 64 * 1024;
const resolvedId = /^[A-Za-z0-9_-]{1,128}$/;

/**
 * A gateway with a domain is asked at the name's own host, as readers would be; one that is an address has no
 * hosts below it and is asked at its resolver. A gateway never fails here: it votes or is silent.
 */
export async function askName(gateway: Gateway, label: string, timeoutMs: number): Promise<Vote> {
  try {
    return gateway.hasSubdomains
      ? await askHost(gateway, label, timeoutMs)
      : await askResolver(gateway, label, timeoutMs);
  } catch (error) {
    return { kind: 'silent', reason: messageOf(error) };
  }
}

async function askHost(gateway: Gateway, label: string, timeoutMs: number): Promise<Vote> {
  const host = `${label}.${gateway.host}`;
  const answer = await gateway.ask({ role: 'name', method: 'HEAD', path: '/', headers: { host }, timeoutMs });
  discard(answer);
  const { status, headers } = answer;
  const id = headerOf(headers, 'x-arns-resolved-id');
  const state = availabilityOf(status, headers['cache-control']);
  // Where the name points is known also where the content cannot be had right now.
  if (id !== undefined && resolvedId.test(id) && (status < 400 || state !== 'absent')) {
    return vote(
      id,
      headerOf(headers, 'x-arns-ttl-seconds'),
      headerOf(headers, 'x-arns-ant-id') ?? headerOf(headers, 'x-arns-process-id'),
    );
  }
  // A page of the gateway's own in place of a name that nobody registered carries no id.
  if (state === 'absent' || (status >= 200 && status < 300)) return { kind: 'absent' };
  return silent(status);
}

async function askResolver(gateway: Gateway, label: string, timeoutMs: number): Promise<Vote> {
  const path = `/ar-io/resolver/${encodeURIComponent(label)}`;
  const answer = await gateway.ask({ role: 'name', path, timeoutMs });
  if (answer.status !== 200) {
    discard(answer);
    return availabilityOf(answer.status, answer.headers['cache-control']) === 'absent'
      ? { kind: 'absent' }
      : silent(answer.status);
  }
  const document: unknown = JSON.parse((await readBody(answer, answerLimit)).toString('utf8'));
  const id = textOf(document, 'txId') ?? textOf(document, 'resolvedId');
  if (id === undefined || !resolvedId.test(id)) return { kind: 'silent', reason: 'answered without an id' };
  return vote(id, textOf(document, 'ttlSeconds'), textOf(document, 'antId') ?? textOf(document, 'processId'));
}

const silent = (status: number): Vote => ({
  kind: 'silent',
  reason: `answered ${status}`,
  ...(status === 451 && { refused: true }),
});

function vote(id: string, ttl: string | undefined, antId: string | undefined): Vote {
  const ttlSeconds = ttl !== undefined && /^[0-9]{1,9}$/.test(ttl) ? Number(ttl) : undefined;
  // It becomes a header of ours; one that is no address is one gateway's noise and no reason to disagree.
  const isAddress = antId !== undefined && resolvedId.test(antId);
  return { kind: 'id', id, ttlSeconds, ...(isAddress ? { antId } : {}) };
}

/** Some gateways write numbers as text. */
function textOf(value: unknown, name: string): string | undefined {
  const found = memberOf(value, name);
  return typeof found === 'string' || typeof found === 'number' ? String(found) : undefined;
}
