/** Gateways that are told of uploads and sometimes fail, for tests of the upload service. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { UploadDeps } from '../../src/upload/surface.ts';

export interface ToldGateways {
  readonly urls: readonly string[];
  /** Ids that each has taken. */
  readonly taken: readonly ReadonlySet<string>[];
  /** From now on none fails. */
  behave(): void;
  stop(): void;
}

/** `fails` says before each call whether that gateway fails it, in whichever way. */
export async function startToldGateways(
  count: number,
  fails: (gateway: number) => boolean,
): Promise<ToldGateways> {
  let isWell = false;
  const taken = Array.from({ length: count }, () => new Set<string>());
  const servers: Server[] = [];
  const urls: string[] = [];
  for (const [index, ids] of taken.entries()) {
    const server = createServer(async (request, response) => {
      const parts: Buffer[] = [];
      for await (const part of request) parts.push(part);
      if (!isWell && fails(index)) {
        // Half of the failures come after it was taken: nobody hears of that.
        if (parts.length > 0 && fails(index)) take(Buffer.concat(parts));
        request.socket.destroy();
        return;
      }
      if (request.method === 'POST') take(Buffer.concat(parts));
      response.writeHead(request.method === 'POST' ? 200 : 404).end();
    });
    const take = (body: Buffer): void => {
      for (const { id } of JSON.parse(body.toString())) ids.add(String(id));
    };
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    servers.push(server);
    urls.push(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  }
  return {
    urls,
    taken,
    behave() {
      isWell = true;
    },
    stop() {
      for (const server of servers) {
        server.closeAllConnections();
        server.close();
      }
    },
  };
}

/** The first is the upload service's own. */
export function told(urls: readonly string[]): Pick<UploadDeps, 'gateway' | 'otherGateways'> {
  const [own = '', ...others] = urls;
  return {
    gateway: { publicUrl: own, admin: { url: own, key: 'key' } },
    otherGateways: others.map((url) => ({ url, host: new URL(url).host, key: 'key', hasData: true })),
  };
}
