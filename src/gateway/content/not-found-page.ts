/** A name that nobody has: a page for people, text for programs, 404 for both. */
import { html } from '../../kernel/http/page/html.ts';
import { sendPage, writePage } from '../../kernel/http/page/page.ts';
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
  const title = `${label} is not registered`;
  const page = writePage(
    title,
    html`<h1>${title}</h1><p>Nobody has bought this name yet, so there is nothing to show here.</p>`,
  );
  return await sendPage(reply, 404, page, 'public, max-age=60, must-revalidate');
}
