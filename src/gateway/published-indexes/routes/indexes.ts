/** The published index routes (interface §4.4), under `/gw` and its aliases. */
import { join } from 'node:path';
import { noneMatch, strongETag } from '../../../kernel/http/conditional.ts';
import type { App, Reply, Request } from '../../../kernel/http/server.ts';
import type { Meter } from '../../meter.ts';
import { param } from '../../paths.ts';
import { invalidInfohash, invalidName, notPublished } from '../errors.ts';
import { readBounded } from '../files.ts';
import type { IndexFolders } from '../folders.ts';
import { isIndexName, isPartName } from '../names.ts';
import type { Catalog } from '../publication/catalog.ts';
import type { BandFile } from '../publication/document.ts';
import { sha256Hex } from '../publication/document.ts';
import type { PinnedFiles } from '../publication/pinned-files.ts';
import { maxTorrentBytes } from '../publication/torrents.ts';
import { sendIndexFile, sendPadding } from './send-file.ts';

const forever = 'max-age=31536000, immutable';

export interface IndexRoutesOptions {
  readonly catalog: Catalog;
  readonly folders: IndexFolders;
  readonly pinned: PinnedFiles;
  readonly meter: Meter;
}

export function indexRoutes(app: App, { catalog, folders, pinned, meter }: IndexRoutesOptions): void {
  const send = (request: Request, reply: Reply, file: BandFile | undefined, caching: string) => {
    if (file === undefined) throw notPublished();
    return sendIndexFile(request, reply, file, { pinned, meter, caching });
  };

  async function listing(request: Request, reply: Reply): Promise<Reply> {
    const published = await catalog.current();
    if (published === undefined) throw notPublished();
    const etag = strongETag(published.sha256);
    reply.header('etag', etag).header('cache-control', 'public, max-age=60');
    if (noneMatch(request.headers['if-none-match'], etag)) return reply.code(304).send();
    return reply
      .header('content-type', 'application/json')
      .header('content-digest', `sha-256=:${Buffer.from(published.sha256, 'hex').toString('base64')}:`)
      .header('x-ar-io-index-publication', '1')
      .send(published.bytes);
  }

  async function named(
    request: Request,
    reply: Reply,
    name: string,
    band: string,
    file: string,
  ): Promise<Reply> {
    if (!isIndexName(name) || !isPartName(band) || !isPartName(file)) throw invalidName();
    const published = await catalog.current();
    return send(request, reply, published?.byName.get(`${name}/${band}/${file}`), 'no-cache');
  }

  async function blob(request: Request, reply: Reply): Promise<Reply> {
    const published = await catalog.current();
    return send(request, reply, published?.byDigest.get(param(request, 'sha256')), forever);
  }

  async function webSeed(request: Request, reply: Reply): Promise<Reply> {
    const [torrent, file] = [param(request, 'torrentName'), param(request, 'file')];
    // An index may be called "webseed": what cannot be a torrent's name is a band of it.
    if (!/^[0-9a-f]{16}$/.test(torrent)) return named(request, reply, 'webseed', torrent, file);
    if (!isPartName(file)) throw invalidName();
    return send(request, reply, (await catalog.current())?.bySeed.get(`${torrent}/${file}`), forever);
  }

  /** Clients that do not know padding ask for it like for a file: zeros between the end of a file and the next piece. */
  async function padding(request: Request, reply: Reply): Promise<Reply> {
    const [torrent, length] = [param(request, 'torrentName'), param(request, 'length')];
    const known = (await catalog.current())?.pads.get(torrent)?.has(length);
    if (known !== true) throw notPublished();
    return sendPadding(request, reply, Number(length), meter, forever);
  }

  async function torrentFile(request: Request, reply: Reply): Promise<Reply> {
    const [, infohash] = /^([0-9a-f]{40})\.torrent$/.exec(param(request, 'torrent')) ?? [];
    if (infohash === undefined) throw invalidInfohash();
    if ((await catalog.current())?.torrents.has(infohash) !== true) throw notPublished();
    const bytes = await readBounded(join(folders.torrents, `${infohash}.torrent`), maxTorrentBytes);
    if (bytes === undefined) throw notPublished();
    const etag = strongETag(sha256Hex(bytes));
    reply.header('etag', etag).header('cache-control', 'public, max-age=86400');
    if (noneMatch(request.headers['if-none-match'], etag)) return reply.code(304).send();
    return reply.header('content-type', 'application/x-bittorrent').send(bytes);
  }

  const add = (url: string, summary: string, handler: (request: Request, reply: Reply) => Promise<Reply>) => {
    // The contract names HEAD for the listing alone; that the files have it too needs no line of its own.
    const method: ('GET' | 'HEAD')[] = url === '/indexes' ? ['GET', 'HEAD'] : ['GET'];
    app.route({ method, url, schema: { summary, tags: ['published indexes'] }, handler });
  };
  add('/indexes', 'The signed list of published index files', listing);
  add('/indexes/blob/:sha256', 'An index file by its digest', blob);
  add('/indexes/webseed/:torrentName/:file', 'An index file for BitTorrent clients (BEP 19)', webSeed);
  app.get('/indexes/webseed/:torrentName/.pad/:length', { schema: { hide: true } }, padding);
  add('/indexes/torrents/:torrent', 'The torrent of a band, {infohash}.torrent', torrentFile);
  add('/indexes/:name/:band/:file', 'An index file by name', (request, reply) =>
    named(request, reply, param(request, 'name'), param(request, 'band'), param(request, 'file')),
  );
  app.route({
    method: 'GET',
    url: '/indexes/*',
    schema: { hide: true },
    handler: async () => {
      throw notPublished();
    },
  });
}
