/**
 * Uploads in parts, as published clients do them:
 *
 *   GET  /chunks/:token/-1/-1?chunkSize=      create
 *   GET  /chunks/:token/:id/-1                which parts are there
 *   POST /chunks/:token/:id/:offset           put a part
 *   POST /chunks/:token/:id/finalize          finalize in the background; ask for the status
 *   POST /chunks/:token/:id/-1                finalize and wait
 *   GET  /chunks/:token/:id/status            how far it is
 */
import { Type } from 'typebox';
import { type App, mount, type Request } from '../../kernel/http/server.ts';
import { throwTranslated, uploadErrors } from '../errors.ts';
import type { Finalizer } from '../multipart/finalizer.ts';
import { type PutPartDeps, putPart } from '../multipart/put-part.ts';
import {
  createSession,
  findSession,
  multipartLimits,
  type NewSession,
  partsOf,
  type SessionState,
} from '../multipart/sessions.ts';
import { clientNetwork, contentLength, readPaidBy, takeRawBodies, uploadBody } from './upload-request.ts';
import { payForSession, type X402UploadDeps } from './x402-upload.ts';

interface ChunksDeps extends PutPartDeps {
  readonly finalizer: Finalizer;
  readonly trustedProxies: number;
  readonly maxOpenPerAddress: number;
  readonly lifeMs: number;
  /** Absent where no session that declares its size may be paid for (x402). */
  readonly paid: X402UploadDeps | undefined;
}

const token = Type.String({ pattern: '^[a-z0-9-]{1,32}$' });
const params = Type.Object({ token, id: Type.String({ maxLength: 64 }) });

/** What clients call the states. */
const words: Partial<Record<SessionState, string>> = { open: 'ASSEMBLING', finalizing: 'VALIDATING' };

const { minBytes: min, maxBytes: max } = multipartLimits;

export function chunksRoutes(app: App, deps: ChunksDeps): void {
  mount(app, (scope) => {
    takeRawBodies(scope);
    scope.addHook('onRequest', (_request, reply, done) => {
      reply.header('cache-control', 'no-store');
      done();
    });
    createRoute(scope, deps);
    readRoutes(scope, deps);
    writeRoutes(scope, deps);
  });
}

function createRoute(app: App, deps: ChunksDeps): void {
  app.get(
    '/chunks/:token/-1/-1',
    {
      schema: {
        summary: 'Begin an upload in parts',
        params: Type.Object({ token }),
        querystring: Type.Object({
          chunkSize: Type.Optional(Type.String()),
          totalBytes: Type.Optional(Type.String()),
          address: Type.Optional(Type.String()),
          signatureType: Type.Optional(Type.String()),
        }),
      },
      config: { actsOnGet: true, invalid: 'Invalid token' },
    },
    async (request, reply) => {
      const { chunkSize: declared, totalBytes, address } = request.query;
      const chunkSize = declared === undefined ? undefined : parseSize(declared);
      if (Number.isNaN(chunkSize) || (chunkSize !== undefined && (chunkSize < min || chunkSize > max))) {
        throw uploadErrors.invalidChunkSize(min, max);
      }
      await checkDisk(deps);
      const asked = {
        token: request.params.token,
        chunkSize,
        clientAddress: clientNetwork(request, deps.trustedProxies),
        ...namedRequest(request),
      };
      const session = { ...asked, ...(await payment(request, deps, asked, totalBytes, address)) };
      const limits = { maxOpen: deps.maxOpenPerAddress, lifeMs: deps.lifeMs };
      const id = await createSession(deps.sql, session, limits, deps.now());
      return reply.send({ id, min, max, ...(chunkSize === undefined ? {} : { chunkSize }) });
    },
  );
}

/** Before anything is paid: without room for parts there is no use in beginning. */
async function checkDisk({ disk }: ChunksDeps): Promise<void> {
  const room = await disk.reserve(0).catch(throwTranslated);
  room.release();
}

/** `Idempotency-Key`: a client that lost the answer, or its own memory, finds its upload again. */
function namedRequest(request: Request): Pick<NewSession, 'idempotencyKey'> {
  const key = request.headers['idempotency-key'];
  if (key === undefined) return {};
  if (typeof key !== 'string' || !/^[\w-]{1,128}$/.test(key)) throw uploadErrors.invalidIdempotencyKey();
  return { idempotencyKey: key };
}

/** Shorter keys could be guessed by who has read a payment on its chain. */
const leastSecretLength = 16;

async function payment(
  request: Request,
  deps: ChunksDeps,
  { clientAddress: network, idempotencyKey: key }: NewSession,
  totalBytes: string | undefined,
  address: string | undefined,
): Promise<Partial<NewSession>> {
  if (totalBytes === undefined) return {};
  const bytes = parseSize(totalBytes);
  if (Number.isNaN(bytes) || bytes < 1) throw uploadErrors.invalidByteCount();
  if (bytes > deps.maxItemBytes) throw uploadErrors.tooLarge(deps.maxItemBytes);
  if (deps.paid === undefined) return {};
  if (key !== undefined && key.length < leastSecretLength) throw uploadErrors.guessableIdempotencyKey();
  const claim = { network, ...(key !== undefined && { key }) };
  return payForSession(deps.paid, request, bytes, address, claim, deps.maxOpenPerAddress);
}

function readRoutes(app: App, deps: ChunksDeps): void {
  const { sql, finalizer } = deps;
  app.get(
    '/chunks/:token/:id/-1',
    { schema: { summary: 'Which parts are there', params } },
    async (request) => {
      const { id } = request.params;
      const session = await findSession(sql, id);
      const parts = await partsOf(sql, id);
      const size = session.chunk_size ?? Math.max(0, ...parts.map((part) => part.size));
      return {
        id,
        min,
        max,
        size: size === 0 ? 25_000_000 : size,
        chunks: parts.map((part) => [part.start, part.size]),
        ...(isFailure(session.state) ? { failedReason: session.state } : {}),
      };
    },
  );
  app.get(
    '/chunks/:token/:id/status',
    { schema: { summary: 'How far an upload is', params } },
    async (request) => {
      const session = await findSession(sql, request.params.id);
      const status = words[session.state] ?? session.state;
      const timestamp = session.changed_at;
      if (session.state !== 'FINALIZED') return { status, timestamp };
      const { receipt } = await finalizer.finalize(session.id, { paidBy: [], clientAddress: '' });
      return { status, timestamp, receipt };
    },
  );
}

function writeRoutes(app: App, deps: ChunksDeps): void {
  const { finalizer } = deps;
  const payers = (request: Request) => ({
    paidBy: readPaidBy(request),
    clientAddress: clientNetwork(request, deps.trustedProxies),
  });
  app.post(
    '/chunks/:token/:id/-1',
    { schema: { summary: 'Finalize and wait', params } },
    async (request) => (await finalizer.finalize(request.params.id, payers(request))).receipt,
  );
  app.post(
    '/chunks/:token/:id/finalize',
    { schema: { summary: 'Finalize in the background', params } },
    async (request, reply) => {
      await finalizer.begin(request.params.id, payers(request));
      return reply.code(202).send({ id: request.params.id });
    },
  );
  app.post(
    '/chunks/:token/:id/:offset',
    {
      schema: {
        summary: 'Put a part',
        params: Type.Object({ token, id: Type.String({ maxLength: 64 }), offset: Type.String() }),
      },
    },
    async (request, reply) => {
      const start = parseSize(request.params.offset);
      if (Number.isNaN(start)) throw uploadErrors.invalidChunk('Its offset is no number');
      await putPart(deps, {
        session: request.params.id,
        start,
        contentLength: contentLength(request),
        body: uploadBody(request),
      });
      return reply.code(200).send();
    },
  );
}

function isFailure(state: SessionState): boolean {
  return state !== 'open' && state !== 'finalizing' && state !== 'FINALIZED';
}

function parseSize(text: string): number {
  const size = /^(?:0|[1-9][0-9]{0,15})$/.test(text) ? Number(text) : Number.NaN;
  return Number.isSafeInteger(size) ? size : Number.NaN;
}
