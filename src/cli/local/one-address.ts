/**
 * One address for tools that know one: on the port of the local Arweave node the gateway of the same process answers what
 * a node has not (GraphQL, content with ranges and manifests, names), as ArLocal does, and the control of the network
 * answers for its own paths.
 */
import type { IncomingMessage } from 'node:http';
import { originForm } from '../../kernel/http/one-host.ts';

export type Answerer = 'control' | 'gateway' | 'node';

const controlPath = /^\/(?:local|reset)(?:\/|$)/;
const gatewayPath = /^\/(?:graphql|raw\/.+|(?:ar-io|gw)\/(?:info|peers|healthcheck|resolver\/.+))$/;
/** Content of an id, or of a path in a manifest. */
const contentPath = /^\/[A-Za-z0-9_-]{43}(?:\/|$)/;
/** The host of a name, or of the content of one id. */
const hostBelowLocalhost = /^[^.]+\.localhost(?::[0-9]+)?$/i;

/** Who answers a request that came to the port of the node. */
export function answererOf({ method, url = '/', headers }: IncomingMessage): Answerer {
  if (hostBelowLocalhost.test(headers.host ?? '')) return 'gateway';
  const [path = '/'] = originForm(url).split('?', 1);
  if (controlPath.test(path)) return 'control';
  if (gatewayPath.test(path)) return 'gateway';
  return (method === 'GET' || method === 'HEAD') && contentPath.test(path) ? 'gateway' : 'node';
}

/**
 * The gateway sends browsers that open a page of an id on a host of its own name to another host. Whoever came to this
 * port asked for the content here: by an address that is no name of the gateway it is answered in place.
 */
export function answerInPlace({ headers, socket }: IncomingMessage): void {
  if (!hostBelowLocalhost.test(headers.host ?? '')) headers.host = `127.0.0.1:${socket.localPort}`;
}
