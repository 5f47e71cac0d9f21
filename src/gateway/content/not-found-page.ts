/** A name that nobody has: a page for people, text for programs, 404 for both. */
import type { Reply, Request } from '../../kernel/http/server.ts';
import { notFound } from '../errors.ts';
import { answerContent } from './answer/answer.ts';
import { refuseBlocked, type ServeParts } from './serve.ts';

/** `pageId`: content chosen by the operator. */
export async function sendNotFoundPage(
  parts: ServeParts,
  pageId: string | undefined,
  request: Request,
  reply: Reply,
  label: string,
): Promise<unknown> {
  reply.header('vary', 'Accept');
  if (request.headers.accept?.includes('text/html') !== true) throw notFound();
  if (pageId !== undefined) {
    await refuseBlocked(parts, request, pageId);
    const options = { reason: 'fallback', origin: 'own', status: 404 } as const;
    return await answerContent(parts, request, reply, pageId, options);
  }
  return await reply
    .code(404)
    .header('content-type', 'text/html; charset=utf-8')
    .header('cache-control', 'public, max-age=60, must-revalidate')
    .header('content-security-policy', "default-src 'none'; style-src 'unsafe-inline'")
    .send(builtInPage(label));
}

/** The label is [a-z0-9_-] only, so that it needs no escaping. */
function builtInPage(label: string): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${label} is not registered</title>
<style>
  body { font: 1.1rem/1.6 system-ui, sans-serif; margin: 15vh auto; max-width: 34rem; padding: 0 1.5rem; color: #1c2733; background: #f7f8fa }
  h1 { font-size: 1.6rem; overflow-wrap: anywhere }
  @media (prefers-color-scheme: dark) { body { color: #dde5ee; background: #12181f } }
</style>
<h1>${label} is not registered</h1>
<p>Nobody has bought this name yet, so there is nothing to show here.</p>
</html>
`;
}
