/** Serves a page: its document, and its files, which may be kept for ever because their names change with them. */
import { kept } from '../../background/kept.ts';
import { HttpError } from '../../errors.ts';
import type { App, Reply, Request } from '../app.ts';
import { html } from './html.ts';
import { drawing } from './page.ts';
import type { PageFiles, PageName } from './page-build.ts';
import { EncodedFiles, encode, encodingFor, loadPage, typeOf } from './page-files.ts';

const assetsPath = '/assets/';

interface Loaded {
  readonly files: EncodedFiles;
  readonly document: Buffer;
}

export interface PageRoutes {
  readonly name: PageName;
  /** The paths that answer the document. */
  readonly path: string;
  readonly title: string;
  /** For who has no JavaScript. */
  readonly withoutScript: string;
  /** For each answer of the document. */
  headers(request: Request): Readonly<Record<string, string>>;
}

export function addPageRoutes(app: App, page: PageRoutes): void {
  const loaded = kept(async (): Promise<Loaded> => {
    const files = await loadPage(page.name);
    return { files: new EncodedFiles(files.files), document: Buffer.from(writeDocument(page, files)) };
  });

  app.get('/icon.svg', { schema: { hide: true } }, (_request, reply) =>
    reply.header('content-type', 'image/svg+xml').header('cache-control', 'max-age=86400').send(drawing),
  );

  app.get(`${assetsPath}:name`, { schema: { hide: true } }, async (request, reply) => {
    const { name } = request.params as { name: string };
    const { files } = await loaded();
    const encoding = encodingFor(request.headers['accept-encoding']);
    const bytes = await files.get(name, encoding);
    if (bytes === undefined) throw new HttpError(404, 'Not Found');
    reply.header('cache-control', 'public, max-age=31536000, immutable');
    return send(reply, bytes, typeOf(name), encoding);
  });

  app.get(page.path, { schema: { hide: true } }, async (request, reply) => {
    const encoding = encodingFor(request.headers['accept-encoding']);
    const { document } = await loaded();
    reply.headers(page.headers(request));
    return send(reply, await encode(document, encoding), 'text/html; charset=utf-8', encoding);
  });
}

function send(reply: Reply, bytes: Buffer, type: string, encoding: string): Reply {
  if (encoding !== 'identity') reply.header('content-encoding', encoding);
  return reply.header('content-type', type).header('vary', 'accept-encoding').send(bytes);
}

function writeDocument({ title, withoutScript }: PageRoutes, { scripts, style }: PageFiles): string {
  const workers = Object.entries(scripts).filter(([name]) => name !== 'main');
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" href="/icon.svg">
<link rel="stylesheet" href="${assetsPath}${style}">
${workers.map(([name, file]) => html`<meta name="worker-${name}" content="${assetsPath}${file}">\n`)}
<script type="module" src="${assetsPath}${scripts.main}"></script>
</head>
<body>
<div id="app"></div>
<noscript>${withoutScript}</noscript>
</body>
</html>
`.text;
}
