/** An id and a name, read from outside as a reader does, and the same bytes as inside. */
import { hash } from 'node:crypto';
import { isTxId, type TxId } from '../../formats/base64url.ts';
import { memberOf, tryParseJson } from '../../formats/json.ts';
import { sandboxLabel } from '../../formats/sandbox-label.ts';
import { reasonOf } from '../service-client.ts';
import { serviceUrl } from '../service-url.ts';
import { type Finding, ok, skipped, wrong } from './finding.ts';
import { isPrivateHost, type Patient } from './patient.ts';

/** A name that everybody reads. */
const publicName = 'ardrive';

export async function lookAtContent(patient: Patient): Promise<Finding[]> {
  const { publicUrls } = patient;
  const { gateway, router } = publicUrls;
  if (gateway === undefined && router === undefined) return [skipped('no public address is known')];
  const id = patient.id ?? (await someId(patient));
  const name =
    patient.name ??
    (patient.config.WORLD === 'public' && patient.config.NAMES_ENABLED ? publicName : undefined);
  const readings = [
    ...(id === undefined ? [] : idUrls(publicUrls, id).map((url) => readId(patient, id, url))),
    ...(name === undefined ? [] : nameUrls(publicUrls, name).map((url) => readName(patient, name, url))),
  ];
  const found = (await Promise.all(readings)).flat();
  if (id === undefined) found.push(skipped('no id is known that could be read: say --id'));
  if (name === undefined) found.push(skipped('no name was read: say --name'));
  return found;
}

/** By each way that readers take. */
function idUrls({ gateway, router }: Patient['publicUrls'], id: TxId): string[] {
  const sandbox = (url: string): string[] => {
    const { protocol, host, hostname } = new URL(url);
    return isPrivateHost(hostname) ? [] : [`${protocol}//${sandboxLabel(id)}.${host}/${id}`];
  };
  return [
    ...(gateway === undefined ? [] : [`${gateway}/raw/${id}`, ...sandbox(gateway)]),
    ...(router === undefined ? [] : [`${router}/${id}`]),
  ];
}

function nameUrls({ gateway, router }: Patient['publicUrls'], name: string): string[] {
  return [gateway, router].flatMap((url) => {
    if (url === undefined) return [];
    const { protocol, host, hostname } = new URL(url);
    return isPrivateHost(hostname) ? [] : [`${protocol}//${name}.${host}/`];
  });
}

/** One of the newest small items that the gateway has; else one that every gateway of the public network can read. */
async function someId({ config, view, publicUrls }: Patient): Promise<TxId | undefined> {
  const query = '{ transactions(first: 50) { edges { node { id data { size } } } } }';
  const url = publicUrls.gateway ?? serviceUrl(config, 'gateway');
  const answer = await view.http.postJson(`${url}/graphql`, { query }).catch(() => undefined);
  const data = memberOf(tryParseJson(String(answer?.body ?? '')), 'data');
  const edges = memberOf(memberOf(data, 'transactions'), 'edges');
  for (const edge of Array.isArray(edges) ? edges : []) {
    const node = memberOf(edge, 'node');
    const id = memberOf(node, 'id');
    const size = Number(memberOf(memberOf(node, 'data'), 'size'));
    if (typeof id === 'string' && isTxId(id) && size > 0 && size < 1024 * 1024) return id;
  }
  const { WORLD, ARNS_DEFAULT_TARGET: known } = config;
  return WORLD === 'public' && isTxId(known) ? known : undefined;
}

async function readId(
  { config, view, surfaces, publicUrls }: Patient,
  id: TxId,
  url: string,
): Promise<Finding[]> {
  const { host, pathname } = new URL(url);
  const shown = `${host.replace(/^[a-z2-7]{52}\./, '(sandbox).')}${pathname}`;
  try {
    const outside = await view.http.call(url, { headers: { accept: '*/*' } });
    if (outside.status >= 400) {
      const remedy = url.startsWith(`${publicUrls.router}/`)
        ? `is BASE_DOMAIN of the router ${new URL(url).hostname}, and has it gateways to ask?`
        : `see "turnpike admin why ${id}", the log, and what the proxy does with such paths and hosts`;
      return [wrong(`${shown} answers ${outside.status}`, remedy)];
    }
    if (!surfaces.includes('gateway')) return [ok(`${shown} can be read`)];
    const inside = await view.http.call(`${serviceUrl(config, 'gateway')}/raw/${id}`).catch(() => undefined);
    const isOther = inside?.status === 200 && digest(inside.body) !== digest(outside.body);
    return isOther && pathname.startsWith('/raw/')
      ? [
          wrong(
            `${shown} has other bytes outside than inside`,
            'something in front changes or caches bodies: switch that off',
          ),
        ]
      : [ok(`${shown} can be read (${outside.body.length} bytes)`)];
  } catch (error) {
    return [
      wrong(`${shown} cannot be read (${reasonOf(error)})`, 'is the proxy up, and does it know this host?'),
    ];
  }
}

const digest = (bytes: Buffer): string => hash('sha256', bytes, 'hex');

async function readName({ view }: Patient, name: string, url: string): Promise<Finding[]> {
  const { host } = new URL(url);
  try {
    const { status } = await view.http.call(url, { headers: { accept: 'text/html' } });
    if (status < 400) return [ok(`${host} opens`)];
    const remedy =
      status === 404
        ? `is "${name}" a name of this network, and does the proxy pass hosts below the root on?`
        : 'see the log of the gateway, and SOLANA_RPC_URL';
    return [wrong(`${host} answers ${status}`, remedy)];
  } catch (error) {
    return [
      wrong(`${host} cannot be read (${reasonOf(error)})`, 'does the proxy know hosts below the root?'),
    ];
  }
}
