/** `POST /tx` and `POST /tx/:token`: one signed data item in the body, a signed receipt in the answer. */
import { Type } from 'typebox';
import { type App, mount, type Reply, type Request } from '../../kernel/http/server.ts';
import { InsufficientBalance, throwTranslated } from '../errors.ts';
import type { Accepted, Intake } from '../intake/intake.ts';
import {
  checkContentType,
  clientNetwork,
  contentLength,
  readPaidBy,
  sendAccepted,
  takeRawBodies,
  uploadBody,
} from './upload-request.ts';
import { receiveSigned, type X402UploadDeps } from './x402-upload.ts';

interface TxRouteDeps {
  readonly intake: Intake;
  readonly trustedProxies: number;
  /** Absent where no upload may carry its own payment (x402). */
  readonly paid: X402UploadDeps | undefined;
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

async function receive(
  request: Request,
  reply: Reply,
  deps: TxRouteDeps,
  token: string | undefined,
): Promise<Accepted> {
  const { intake, paid, trustedProxies } = deps;
  checkContentType(request);
  if (paid?.payments.carriedBy(request.headers)) return receiveSigned(request, reply, paid, token);
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
    if (error instanceof InsufficientBalance && paid !== undefined && stated !== undefined)
      throw await paid.payments.challenge(request, stated, error).catch(throwTranslated);
    throw error;
  }
}
