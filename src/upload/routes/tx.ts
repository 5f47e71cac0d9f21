/** `POST /tx` and `POST /tx/:token`: one signed data item in the body, a signed receipt in the answer. */
import { Type } from 'typebox';
import { HttpError } from '../../kernel/errors.ts';
import { type App, mount, type Reply, type Request } from '../../kernel/http/server.ts';
import type { Accepted, Intake } from '../intake/intake.ts';
import { checkContentType, contentLength, takeRawBodies, uploadBody } from './request-body.ts';
import { clientNetwork, readPaidBy } from './request-payers.ts';

interface TxRouteDeps {
  readonly intake: Intake;
  readonly trustedProxies: number;
  readonly payable?: PayableUploads;
}

/** Uploads that carry their own payment (x402). */
export interface PayableUploads {
  carriesPayment(request: Request): boolean;
  receive(request: Request, reply: Reply, token: string | undefined): Promise<Accepted>;
  /** The 402 that says how an upload of so many bytes can be paid with the request. */
  challenge(request: Request, bytes: number): Promise<Error>;
}

export function txRoutes(app: App, deps: TxRouteDeps): void {
  mount(app, (scope) => {
    takeRawBodies(scope);
    const schema = {
      summary: 'Upload one signed data item (ANS-104)',
      description:
        'The body is the raw item. Answers a signed receipt: 200 when it was taken in, 202 when it was here before.',
    };
    scope.post('/tx', { schema }, async (request, reply) =>
      sendAccepted(reply, await receive(request, reply, deps, undefined)),
    );
    scope.post(
      '/tx/:token',
      {
        schema: { ...schema, params: Type.Object({ token: Type.String({ pattern: '^[a-z0-9-]{1,32}$' }) }) },
        config: { invalid: 'Invalid token' },
      },
      async (request, reply) =>
        sendAccepted(reply, await receive(request, reply, deps, request.params.token)),
    );
  });
}

/** 202 says that the item was here before. */
export function sendAccepted(reply: Reply, accepted: Accepted): Reply {
  return reply.code(accepted.duplicate ? 202 : 200).send(accepted.receipt);
}

async function receive(
  request: Request,
  reply: Reply,
  deps: TxRouteDeps,
  token: string | undefined,
): Promise<Accepted> {
  const { intake, payable, trustedProxies } = deps;
  checkContentType(request);
  if (payable?.carriesPayment(request) === true) return payable.receive(request, reply, token);
  const stated = contentLength(request);
  try {
    return await intake.receive({
      body: uploadBody(request),
      contentLength: stated,
      paidBy: readPaidBy(request),
      clientAddress: clientNetwork(request, trustedProxies),
      token,
    });
  } catch (error) {
    const unpaid = error instanceof HttpError && error.status === 402;
    if (unpaid && payable !== undefined && stated !== undefined)
      throw await payable.challenge(request, stated);
    throw error;
  }
}
