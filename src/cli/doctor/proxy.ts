/** What stands in front of the services: whether it passes on who asks for what, whole, and as it comes. */
import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { toTxId } from '../../formats/base64url.ts';
import { sandboxLabel } from '../../formats/sandbox-label.ts';
import { type Finding, ok, skipped, wrong } from './finding.ts';
import { isPrivateHost, type Patient } from './patient.ts';

export async function lookAtProxy(patient: Patient): Promise<Finding[]> {
  const { publicUrls } = patient;
  if (Object.keys(publicUrls).length === 0) return [skipped('no public address is known')];
  const found = await Promise.all([
    publicUrls.gateway === undefined ? [] : sendsToSandbox(patient, publicUrls.gateway),
    publicUrls.gateway === undefined ? [] : streamsEvents(patient, publicUrls.gateway),
    publicUrls.upload === undefined ? [] : takesLargeBodies(patient, publicUrls.upload),
    believesProxy(patient),
  ]);
  const all = found.flat();
  return all.length > 0 ? all : [ok('nothing in front changes what passes through it')];
}

/** A page is sent to a host of its own below the root host, by the scheme that it was asked for with. */
async function sendsToSandbox({ config, view }: Patient, url: string): Promise<Finding[]> {
  if (!config.SANDBOX_ENABLED) return [];
  const { protocol, host: authority, hostname } = new URL(url);
  if (isPrivateHost(hostname)) return [];
  const id = toTxId(randomBytes(32));
  const headers = { 'sec-fetch-dest': 'document', accept: 'text/html' };
  const { status, headers: answered } = await view.http.call(`${url}/${id}`, { headers });
  const location = String(answered.location ?? '');
  const expected = `${protocol}//${sandboxLabel(id)}.${authority}/${id}`;
  if (status >= 300 && status < 400 && location === expected) {
    return [ok(`pages at ${hostname} are sent to hosts of their own`)];
  }
  if (!URL.canParse(location) || status >= 400) {
    const remedy = `set ARNS_ROOT_HOST=${hostname} for the gateway, and have the proxy pass the Host header on`;
    return [
      wrong(`the gateway does not take ${hostname} for its root host (a page is answered ${status})`, remedy),
    ];
  }
  const sent = new URL(location);
  if (!sent.host.endsWith(`.${authority}`)) {
    const remedy = `set ARNS_ROOT_HOST=${hostname}, and have the proxy pass the Host header on as it came, with its port`;
    return [wrong(`pages at ${authority} are sent to ${sent.host.replace(/^[a-z2-7]{52}\./, '*.')}`, remedy)];
  }
  const remedy =
    'have the proxy set X-Forwarded-Proto, and name its address in TRUSTED_PROXIES (or set SANDBOX_PROTOCOL=https)';
  return [wrong(`pages at ${protocol}//${authority} are sent to ${sent.protocol}//`, remedy)];
}

/** The first bytes of an event stream come at once, unless something collects them. */
async function streamsEvents({ view, timeoutMs }: Patient, url: string): Promise<Finding[]> {
  const over = AbortSignal.timeout(timeoutMs);
  const remedy = 'switch response buffering off in the proxy (nginx: proxy_buffering off)';
  const held = [wrong(`events of ${new URL(url).host} are held back by something in front`, remedy)];
  try {
    const answer = await view.http.open(`${url}/gw/events`, until(over, timeoutMs));
    if (answer.status !== 200) return [];
    for await (const piece of answer.body) {
      answer.discard();
      if (piece.length > 0) return [];
    }
    return held;
  } catch (error) {
    if (over.aborted) return held;
    throw error;
  }
}

/** The signal alone ends the question: a time-out of the client's own at the same moment would be told as no answer at all. */
const until = (signal: AbortSignal, timeoutMs: number) => ({
  signal,
  timeoutMs: 2 * timeoutMs,
  idleTimeoutMs: 2 * timeoutMs,
});

/** Far more than proxies take by default (nginx 1 MiB), and no more than the service takes. */
const probeBytes = 64 * 1024 * 1024;

const trickleMs = 100;

/**
 * Tells of a large body and sends only its beginning, which no item begins with. The service refuses it at once; a proxy
 * with a limit refuses the length, and one that collects bodies waits for the rest.
 */
async function takesLargeBodies({ config, view, timeoutMs }: Patient, url: string): Promise<Finding[]> {
  const { host } = new URL(url);
  const length = Math.min(config.MAX_DATA_ITEM_SIZE, probeBytes);
  const over = AbortSignal.timeout(timeoutMs);
  const remedy =
    'have the proxy take bodies of any length and pass them on as they come (nginx: client_max_body_size 0; proxy_request_buffering off)';
  try {
    const answer = await view.http.open(`${url}/v1/tx`, {
      method: 'POST',
      headers: { 'content-type': 'application/octet-stream', 'content-length': String(length) },
      body: Readable.from(beginning(over, timeoutMs)),
      ...until(over, timeoutMs),
    });
    answer.discard();
    if (answer.status === 413) {
      return [
        wrong(`uploads of ${length / 1024 / 1024} MiB are refused before ${host} sees them (413)`, remedy),
      ];
    }
    return answer.status >= 500 && answer.status !== 507
      ? [
          wrong(
            `the upload service at ${host} answers ${answer.status}`,
            'look at its log and at that of the proxy',
          ),
        ]
      : [ok(`${host} takes large uploads as they come`)];
  } catch (error) {
    if (!over.aborted) throw error;
    return [wrong(`uploads are collected in front of ${host} before they are passed on`, remedy)];
  }
}

/** Slowly on after the first piece: some proxies pass an answer on only when the next piece of the body comes. */
async function* beginning(over: AbortSignal, timeoutMs: number): AsyncGenerator<Buffer> {
  const end = performance.now() + timeoutMs;
  yield Buffer.alloc(64 * 1024, 0xff);
  while (!over.aborted && performance.now() < end) {
    await sleep(trickleMs, undefined, { signal: over }).catch(() => {});
    yield Buffer.alloc(1024, 0xff);
  }
}

/** Where somebody else speaks TLS there is a proxy, and clients are only known by what it says of them. */
function believesProxy({ config, publicUrls, surfaces }: Patient): Finding[] {
  const isBehind =
    Object.values(publicUrls).some((url) => url.startsWith('https://')) &&
    config.TLS_CERTIFICATE_FILE === undefined &&
    !config.LOCAL_TLS;
  if (!isBehind) return [];
  const missing = [
    ...(config.TRUSTED_PROXIES.length === 0 ? ['TRUSTED_PROXIES=127.0.0.1'] : []),
    ...(config.TRUSTED_PROXY_COUNT === 0 && surfaces.some((name) => name !== 'gateway')
      ? ['TRUSTED_PROXY_COUNT=1']
      : []),
  ];
  if (missing.length === 0) return [];
  const remedy = `set ${missing.join(' and ')} (addresses and number of the proxies in front)`;
  return [
    wrong(
      'a proxy speaks TLS and is not trusted: all clients count as one, and limits hit all of them',
      remedy,
    ),
  ];
}
