/**
 * Request ids: the caller's own when it is sane, so that one id follows a request through several programs;
 * else a random prefix of this process and a counter, which is unique enough and costs nothing.
 */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

const sane = /^[A-Za-z0-9][A-Za-z0-9._:/+=-]{0,127}$/;

export function createRequestIds(): (request: IncomingMessage) => string {
  const prefix = `${randomBytes(5).toString('hex')}-`;
  let count = 0;
  return (request) => {
    const given = request.headers['x-request-id'];
    if (typeof given === 'string' && sane.test(given)) return given;
    count += 1;
    return `${prefix}${count}`;
  };
}
