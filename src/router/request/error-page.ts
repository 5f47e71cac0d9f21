/**
 * Refusals for people: a browser that asks for a page gets one in place of JSON. Static, without scripts, and with
 * the id of the request, so that whoever reports it can be helped.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { textOf } from '../../formats/json.ts';

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

/** True where the reader would rather have a page than data (RFC 9110 §12.5.1, without weighing equals). */
export function prefersPage(accept: string | undefined): boolean {
  if (accept === undefined || !accept.includes('text/html')) return false;
  const weightOf = (type: string): number => {
    const range = accept.split(',').find((one) => one.trim().toLowerCase().startsWith(type));
    const weight = /;\s*q=([01](?:\.[0-9]{0,3})?)/i.exec(range ?? '')?.[1];
    return range === undefined ? 0 : Number(weight ?? '1');
  };
  return weightOf('text/html') > weightOf('application/json');
}

/** The body to send in place of a refusal in JSON; undefined where it stays as it is. */
export function errorPage(
  request: Pick<FastifyRequest, 'id' | 'method' | 'headers'>,
  reply: Pick<FastifyReply, 'statusCode'>,
  payload: unknown,
): string | undefined {
  const title = titles[reply.statusCode];
  if (title === undefined || typeof payload !== 'string' || !prefersPage(request.headers.accept)) {
    return undefined;
  }
  const { code, message } = wordsOf(payload);
  return page(title, message, `${reply.statusCode} ${code} · request ${request.id}`);
}

function wordsOf(payload: string): { code: string; message: string } {
  const body: unknown = JSON.parse(payload);
  const text = (name: string): string => textOf(body, name) ?? '';
  return { code: text('code') || text('error'), message: text('message') };
}

function page(title: string, message: string, small: string): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escaped(title)}</title>
<style>
:root { color-scheme: light dark }
body { font: 16px/1.5 system-ui, sans-serif; margin: 20vh auto; max-width: 36rem; padding: 0 1.5rem }
h1 { font-size: 1.5rem } small { opacity: .6 }
</style>
<h1>${escaped(title)}</h1>
<p>${escaped(message)}</p>
<small>${escaped(small)}</small>
</html>
`;
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (letter) => `&#${letter.charCodeAt(0)};`);
}
