/**
 * `GET /price/:token/:byteCount` and `GET /price/:token` (interface §4.3): winc for an upload of so many bytes, the
 * same to the last winc as the payment surface's `/price/bytes` and as what is then charged. Winc do not depend on
 * the token; without a byte count it is the price of 1 GiB, and a single segment of digits is a byte count.
 */
import { Type } from 'typebox';
import type { App, Reply } from '../../kernel/http/server.ts';
import { type Pricing, tokens } from '../../pricing/pricing.ts';
import { throwTranslated, uploadErrors } from '../errors.ts';

const gibibyte = 1024 ** 3;
const knownTokens = new Set<string>(tokens);
const token = Type.String({ description: 'Token that the uploader pays with, for example `arweave`' });

export function priceRoutes(app: App, pricing: Pricing): void {
  app.get(
    '/price/:token/:byteCount',
    {
      schema: {
        summary: 'Price of uploading a number of bytes',
        params: Type.Object({ token, byteCount: Type.String({ description: 'Bytes, decimal digits' }) }),
        response: { 200: Type.Number({ description: 'winc' }) },
      },
    },
    async (request, reply) => {
      checkToken(request.params.token);
      return answerPrice(reply, pricing, parseByteCount(request.params.byteCount));
    },
  );
  app.get(
    '/price/:token',
    {
      schema: {
        summary: 'Price of uploading 1 GiB, or the given number of bytes',
        params: Type.Object({ token }),
        querystring: Type.Object({
          byteCount: Type.Optional(Type.String()),
          bytes: Type.Optional(Type.String()),
        }),
        response: { 200: Type.Number({ description: 'winc' }) },
      },
      config: { invalid: 'Invalid byte count' },
    },
    async (request, reply) => {
      const { params, query } = request;
      if (/^[0-9]+$/.test(params.token)) return answerPrice(reply, pricing, parseByteCount(params.token));
      checkToken(params.token);
      const asked = query.byteCount ?? query.bytes;
      return answerPrice(reply, pricing, asked === undefined ? gibibyte : parseByteCount(asked));
    },
  );
}

/** Bare digits, never through a double: valid as text and as a JSON number. */
async function answerPrice(reply: Reply, pricing: Pricing, bytes: number): Promise<Reply> {
  const quote = await pricing.quoteBytes(bytes).catch(throwTranslated);
  return reply
    .header('cache-control', 'public, max-age=60')
    .header('content-type', 'application/json; charset=utf-8')
    .serializer(String)
    .send(quote.winc.toString());
}

export function checkToken(name: string): void {
  if (!knownTokens.has(name)) throw uploadErrors.invalidToken();
}

function parseByteCount(text: string): number {
  if (!/^[0-9]+$/.test(text)) throw uploadErrors.invalidByteCount();
  const bytes = Number(text);
  if (!Number.isSafeInteger(bytes)) throw uploadErrors.byteCountTooLarge();
  return bytes;
}
