/** The page itself: its document at every path that names no file, and its files. */

import { HttpError } from '../../kernel/errors.ts';
import type { App, Reply, Request } from '../../kernel/http/app.ts';
import { drawing } from '../../kernel/http/page/page.ts';
import type { ConsoleSettings } from '../api.ts';
import { EncodedFiles, encode, encodingFor, loadPage, typeOf } from '../page-files.ts';
import { assetsPath, writeIndex } from '../page-html.ts';
import { contentSecurityPolicy } from '../policy.ts';

interface Loaded {
  readonly files: EncodedFiles;
  readonly index: Buffer;
}

export function pageRoutes(app: App, settingsFor: (request: Request) => ConsoleSettings): void {
  let loading: Promise<Loaded> | undefined;
  const page = (): Promise<Loaded> => {
    loading ??= load().catch((error: unknown) => {
      loading = undefined;
      throw error;
    });
    return loading;
  };

  app.get('/icon.svg', { schema: { hide: true } }, (_request, reply) =>
    reply.header('content-type', 'image/svg+xml').header('cache-control', 'max-age=86400').send(drawing),
  );

  app.get(`${assetsPath}:name`, { schema: { hide: true } }, async (request, reply) => {
    const { name } = request.params as { name: string };
    const { files } = await page();
    const encoding = encodingFor(request.headers['accept-encoding']);
    const bytes = await files.get(name, encoding);
    if (bytes === undefined) throw new HttpError(404, 'Not Found');
    reply.header('cache-control', 'public, max-age=31536000, immutable');
    return send(reply, bytes, typeOf(name), encoding);
  });

  app.get('/*', { schema: { hide: true } }, async (request, reply) => {
    const encoding = encodingFor(request.headers['accept-encoding']);
    const { index } = await page();
    reply.header('content-security-policy', contentSecurityPolicy(settingsFor(request)));
    reply.header('cache-control', 'no-cache');
    return send(reply, await encode(index, encoding), 'text/html; charset=utf-8', encoding);
  });
}

async function load(): Promise<Loaded> {
  const files = await loadPage();
  return { files: new EncodedFiles(files.files), index: Buffer.from(writeIndex(files)) };
}

function send(reply: Reply, bytes: Buffer, type: string, encoding: string): Reply {
  if (encoding !== 'identity') reply.header('content-encoding', encoding);
  return reply.header('content-type', type).header('vary', 'accept-encoding').send(bytes);
}
