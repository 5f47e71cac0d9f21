/** Names and certificates, as browsers need them: of every service, and of what lives below gateway and router. */
import { randomBytes } from 'node:crypto';
import { isIP } from 'node:net';
import { toTxId } from '../../formats/base64url.ts';
import { sandboxLabel } from '../../formats/sandbox-label.ts';
import { messageOf } from '../../kernel/errors.ts';
import { type Finding, ok, skipped, warning, wrong } from './finding.ts';
import { type Patient, serviceNames } from './patient.ts';
import type { ShownCertificate } from './view.ts';

interface PublicHost {
  readonly host: string;
  readonly port: number;
  readonly isTls: boolean;
  /** Whether names and sandboxes live below it. */
  readonly hasSubdomains: boolean;
}

/** Each host once. */
function hostsOf({ publicUrls, config, surfaces }: Patient): PublicHost[] {
  const found = new Map<string, PublicHost>();
  const add = (url: string, hasSubdomains: boolean): void => {
    const { hostname, port, protocol } = new URL(url);
    const isTls = protocol === 'https:';
    const one = { host: hostname, port: Number(port) || (isTls ? 443 : 80), isTls };
    const known = found.get(`${one.host}:${one.port}`);
    const below =
      (hasSubdomains || known?.hasSubdomains === true) && isIP(hostname.replace(/^\[|\]$/g, '')) === 0;
    found.set(`${one.host}:${one.port}`, { ...one, hasSubdomains: below });
  };
  for (const name of serviceNames) {
    const url = publicUrls[name];
    if (url === undefined) continue;
    add(url, name === 'gateway' || name === 'router');
    if (name !== 'gateway' || !surfaces.includes('gateway')) continue;
    // Further root hosts are reached as the first one is.
    const { protocol, port } = new URL(url);
    for (const root of config.ARNS_ROOT_HOST.slice(1)) add(`${protocol}//${root}${port && `:${port}`}`, true);
  }
  return [...found.values()];
}

/** A host below the root that nobody has asked for before: no cache knows it. */
const anySandbox = (root: string): string => `${sandboxLabel(toTxId(randomBytes(32)))}.${root}`;

const noHosts =
  'no public address is known: set ARNS_ROOT_HOST, BASE_DOMAIN and the …_URLs, or say --gateway';

export async function lookAtNames(patient: Patient): Promise<Finding[]> {
  const hosts = hostsOf(patient);
  if (hosts.length === 0) return [skipped(noHosts)];
  const found = await Promise.all(hosts.map((host) => lookAtName(patient, host)));
  return found.flat();
}

async function lookAtName({ view }: Patient, { host, hasSubdomains }: PublicHost): Promise<Finding[]> {
  try {
    const addresses = await view.addresses(host);
    if (addresses.length === 0) {
      return [wrong(`${host} has no address in DNS`, `add an A or AAAA record for ${host}`)];
    }
    if (!hasSubdomains) return [ok(`${host} leads to ${addresses.join(', ')}`)];
    const below = await view.addresses(anySandbox(host));
    const remedy = `add the record *.${host} with the addresses of ${host} (${addresses.join(', ')})`;
    if (below.length === 0) {
      return [wrong(`no host below ${host} is in DNS: names and sandboxes cannot be opened`, remedy)];
    }
    if (below.every((address) => !addresses.includes(address))) {
      return [
        warning(
          `hosts below ${host} lead to ${below.join(', ')}, and ${host} to ${addresses.join(', ')}`,
          remedy,
        ),
      ];
    }
    return [ok(`${host} and every host below it lead to ${addresses.join(', ')}`)];
  } catch (error) {
    return [
      wrong(
        `${host} cannot be looked up: ${messageOf(error)}`,
        'check the DNS servers of this machine, or say --dns',
      ),
    ];
  }
}

const dayMs = 24 * 3_600_000;
/** Certificates are renewed a month before they end; so late it did not work. */
const lateMs = 14 * dayMs;

export async function lookAtCertificates(patient: Patient): Promise<Finding[]> {
  const hosts = hostsOf(patient);
  if (hosts.length === 0) return [skipped(noHosts)];
  const found = await Promise.all(
    hosts.map(async (host): Promise<Judged[]> => {
      if (host.isTls) return lookAtCertificate(patient, host);
      const remedy = 'put a proxy with a certificate in front: docs/production.md';
      return [{ finding: warning(`${host.host} is served without TLS`, remedy) }];
    }),
  );
  // What is wrong with a certificate is wrong for all hosts that show it.
  const told = new Set<string>();
  return found.flat().flatMap(({ finding, once }) => {
    if (once !== undefined && told.has(once)) return [];
    if (once !== undefined) told.add(once);
    return [finding];
  });
}

interface Judged {
  readonly finding: Finding;
  /** Findings with the same key are one. */
  readonly once?: string;
}

async function lookAtCertificate(
  { view }: Patient,
  { host, port, hasSubdomains }: PublicHost,
): Promise<Judged[]> {
  const sandbox = hasSubdomains ? [anySandbox(host)] : [];
  const found: Judged[] = [];
  for (const asked of [host, ...sandbox]) {
    const shown = asked === host ? host : `*.${host}`;
    // A host that is not in DNS is told there.
    if ((await view.addresses(asked).catch(() => [])).length === 0) break;
    try {
      found.push(...judge(shown, asked, await view.certificate(asked, port)));
    } catch (error) {
      const remedy = 'is the proxy up, does it listen there, does the firewall let it through?';
      found.push({
        finding: wrong(`${shown}:${port} does not speak TLS: ${messageOf(error)}`, remedy),
        once: String(port),
      });
    }
  }
  return found;
}

function judge(
  shown: string,
  asked: string,
  { certificate, distrust, protocol, names }: ShownCertificate,
): Judged[] {
  const left = Date.parse(certificate.valid_to) - Date.now();
  const days = Math.abs(Math.round(left / dayMs));
  const renew = 'renew it, and have the proxy load it again';
  const once = certificate.fingerprint256;
  if (left < 0) {
    return [{ finding: wrong(`the certificate of ${shown} expired ${days} days ago`, renew), once }];
  }
  if (!names(asked)) {
    const remedy = `get one for ${shown}${shown.startsWith('*') ? ' (wildcards need the DNS challenge)' : ''}`;
    const has = namesIn(certificate.subjectaltname);
    return [{ finding: wrong(`the certificate that ${shown} shows is not for it (${has})`, remedy) }];
  }
  if (distrust !== undefined) {
    const what = `the certificate of ${shown} is not trusted (${distrust})`;
    return [{ finding: wrong(what, trustRemedy(distrust)), once }];
  }
  if (left < lateMs) {
    const what = `the certificate of ${shown} ends in ${days} days`;
    return [{ finding: warning(what, `${renew}; is the renewal job running?`), once }];
  }
  const good: Judged = { finding: ok(`the certificate of ${shown} is good for ${days} days`) };
  if (protocol === 'h2') return [good];
  const remedy = 'browsers cannot stream uploads without it: switch it on in the proxy';
  return [good, { finding: warning(`${shown} speaks no HTTP/2`, remedy) }];
}

function namesIn(alternatives: string | undefined): string {
  const names = (alternatives ?? '').split(', ').map((name) => name.replace(/^DNS:|^IP Address:/, ''));
  return names.slice(0, 5).join(', ') || 'it names no host';
}

function trustRemedy(reason: string): string {
  if (/SELF_SIGNED|self.signed/i.test(reason)) return 'get one from an authority that browsers trust';
  if (/VERIFY|issuer/i.test(reason))
    return 'have the proxy send the certificates in between, too (fullchain.pem)';
  return 'get one from an authority that browsers trust';
}
