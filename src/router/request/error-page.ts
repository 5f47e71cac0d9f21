/**
 * Refusals for people: a browser that asks for a page gets one in place of JSON. Static, without scripts, and with
 * the id of the request, so that whoever reports it can be helped.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { textOf } from '../../formats/json.ts';
import { prefersType } from '../../kernel/http/accept.ts';
import { html } from '../../kernel/http/page/html.ts';
import { writePage } from '../../kernel/http/page/page.ts';

const titles: Readonly<Record<number, string>> = {
  400: 'This address cannot be read',
  403: 'This content is not available',
  404: 'There is nothing here',
  429: 'Too many requests',
  500: 'Something went wrong',
  501: 'This cannot be shown',
  502: 'The content cannot be had right now',
  503: 'Not right now',
  504: 'Nobody answered in time',
};

/** The body to send in place of a refusal in JSON; undefined where it stays as it is. */
export function errorPage(
  request: Pick<FastifyRequest, 'id' | 'method' | 'headers'>,
  reply: Pick<FastifyReply, 'statusCode'>,
  payload: unknown,
): string | undefined {
  const title = titles[reply.statusCode];
  if (
    title === undefined ||
    typeof payload !== 'string' ||
    !prefersType(request.headers.accept, 'text/html', 'application/json')
  ) {
    return undefined;
  }
  const { code, message } = wordsOf(payload);
  const small = `${reply.statusCode} ${code} · request ${request.id}`;
  return writePage(title, html`<h1>${title}</h1><p>${message}</p><small>${small}</small>`);
}

function wordsOf(payload: string): { code: string; message: string } {
  const body: unknown = JSON.parse(payload);
  const text = (name: string): string => textOf(body, name) ?? '';
  return { code: text('code') || text('error'), message: text('message') };
}
