/** `GET /gw/indexes/announce`: where BitTorrent clients meet (BEP 3). The answer is bencoded, refusals too. */
import { isIP } from 'node:net';
import type { App, Reply, Request } from '../../../kernel/http/server.ts';
import { Clients } from '../../metering/client.ts';
import type { Seeding } from '../swarm/seeding.ts';
import { failure, readAnnounce } from '../swarm/tracker.ts';

export function announceRoute(app: App, seeding: Seeding, proxies: readonly string[]): void {
  const clients = new Clients({ proxies, allowed: [] });
  const send = (reply: Reply, body: Buffer) =>
    reply.header('cache-control', 'no-store').header('content-type', 'text/plain').send(body);

  async function announce(request: Request, reply: Reply): Promise<Reply> {
    const asked = readAnnounce(request.url.split('?')[1] ?? '');
    if (typeof asked === 'string') return send(reply, failure(asked));
    await seeding.refresh();
    const client = clients.keyOf(request);
    const address = isIP(client) === 0 ? (request.socket.remoteAddress ?? '') : client;
    return send(
      reply,
      seeding.tracker.announce(asked, address, seeding.peerFor(request.socket.localAddress)),
    );
  }

  app.get('/indexes/announce', { schema: { hide: true } }, announce);
}
