/** How the node's answers are written: bare text, or JSON that is often there as text already. */
import { isTxId, type TxId } from '../../../formats/base64url.ts';
import { textOf, tryParseJson } from '../../../formats/json.ts';
import type { App, Reply, Request } from '../../../kernel/http/server.ts';
import type { NodeError } from '../errors.ts';

export function sendText(reply: Reply, text: string, status = 200): Reply {
  return reply.code(status).header('content-type', 'text/plain; charset=utf-8').send(text);
}

/** `json` is the text itself. */
export function sendJsonText(reply: Reply, json: string, status = 200): Reply {
  return reply.code(status).header('content-type', 'application/json; charset=utf-8').send(json);
}

export const sendJson = (reply: Reply, value: unknown, status = 200): Reply =>
  sendJsonText(reply, JSON.stringify(value), status);

export function sendNodeError(reply: Reply, error: NodeError): Reply {
  if (typeof error.body === 'string') return sendText(reply, error.body, error.status);
  return sendJson(reply, error.body, error.status);
}

/** The id in a path, or the refusal that this route gives for anything else. */
export function requireId(text: string, refusal: () => NodeError): TxId {
  if (!isTxId(text)) throw refusal();
  return text;
}

/** A number written in plain digits; undefined for anything else and beyond 2^53 - 1. */
export function parseDigits(text: string): number | undefined {
  const value = /^[0-9]{1,16}$/.test(text) ? Number(text) : Number.NaN;
  return Number.isSafeInteger(value) ? value : undefined;
}

/** The body as it came, parsed; undefined where it is not JSON. */
export function parseBody(body: unknown): unknown {
  return Buffer.isBuffer(body) ? tryParseJson(body.toString('utf8')) : undefined;
}

/** A parameter of the path, as text. */
export function param(request: Request, name: string): string {
  return textOf(request.params, name) ?? '';
}

export type Handler = (request: Request, reply: Reply) => Reply | Promise<Reply>;

/** Adds a route that is read. */
export function addGet(app: App, url: string, summary: string, handler: Handler): void {
  app.get(url, { schema: { summary } }, handler);
}
