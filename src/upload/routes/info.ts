/** `GET /` and `GET /info` (interface §4.3): what this service is, takes and signs with. */
import { Type } from 'typebox';
import { receiptVersion } from '../../formats/receipt.ts';
import { originOf } from '../../kernel/http/app.ts';
import { type Greeting, greet } from '../../kernel/http/page/greeting.ts';
import type { App, Request } from '../../kernel/http/server.ts';
import { multipartLimits } from '../multipart/sessions.ts';

interface UploadInfo {
  readonly gateway: string;
  /** Where each token is paid to; without those that nothing is taken in. */
  readonly addresses: Readonly<Record<string, string>>;
  /** Whose signature receipts bear: its address, and its modulus. */
  readonly receiptSigner: { readonly address: string; readonly public: string };
  readonly freeUploadLimitBytes: number;
  readonly maxDataItemBytes: number;
  readonly x402: boolean;
}

const answer = Type.Object({
  version: Type.String(),
  gateway: Type.String(),
  addresses: Type.Record(Type.String(), Type.String(), {
    description: 'By token: arweave, ethereum, solana, matic; those that are taken',
  }),
  gateways: Type.Array(Type.String()),
  freeUploadLimitBytes: Type.Integer(),
  maxDataItemBytes: Type.Integer(),
  receiptVersion: Type.String(),
  receiptSigner: Type.Object({ address: Type.String(), public: Type.String() }),
  signatureTypes: Type.Array(Type.Integer()),
  multipart: Type.Object({ min: Type.Integer(), max: Type.Integer(), default: Type.Integer() }),
  x402: Type.Boolean(),
});

export function infoRoutes(app: App, info: UploadInfo): void {
  const { minBytes: min, maxBytes: max } = multipartLimits;
  const body = {
    ...info,
    version: receiptVersion,
    gateways: [info.gateway],
    receiptVersion,
    signatureTypes: [1, 2, 3, 4, 7],
    multipart: { min, max, default: min },
  };
  for (const path of ['/', '/info']) {
    app.route({
      method: 'GET',
      url: path,
      schema: { summary: 'What this service is, takes and signs with', response: { 200: answer } },
      handler: async (request, reply) => {
        if (path === '/' && greet(request, reply, greeting)) return reply;
        return reply.header('cache-control', 'public, max-age=60').send(body);
      },
    });
  }
}

function greeting(request: Request): Greeting {
  return {
    title: 'Upload service',
    about: 'Takes signed data items, has them paid in credits, gives receipts, and brings them to the chain.',
    links: [
      { path: '/api-docs', what: 'every route, to read' },
      { path: '/v1/info', what: 'what it takes, and whose signature receipts bear' },
      { path: '/health', what: 'whether it runs' },
    ],
    next: {
      text: 'Store a file from the command line, or give this address to turbo-sdk as its upload service:',
      command: `turnpike upload hello.txt --wallet wallet.json\nuploadServiceConfig: { url: '${originOf(request)}' }`,
    },
  };
}
