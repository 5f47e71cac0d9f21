/** GET and PUT /account/notice: below what balance a wallet is told that it runs dry (`credits.low`, docs/events.md). */
import { Type } from 'typebox';
import { type Credits, MAX_WINC, parseAmount } from '../../credits/credits.ts';
import type { RequestSignatures } from '../../credits/signatures/request-signatures.ts';
import type { App, Reply, Request } from '../../kernel/http/app.ts';
import { neverCache, sendExact } from '../answers.ts';
import { actingWallet } from '../auth/acting-wallet.ts';
import { type Authenticator, requireWallet } from '../auth/request-wallet.ts';
import { invalidNotice, userNotFound } from '../errors.ts';
import { errorText, signatureHeaders, winc } from '../schemas.ts';

export interface AccountNoticeDeps {
  readonly credits: Pick<Credits, 'notice' | 'setNotice'>;
  readonly auth: Authenticator;
  readonly signatures: RequestSignatures;
  readonly bodyOf: (request: Request) => Uint8Array;
}

const answer = Type.Object({
  winc: Type.Unsafe<string>({ ...winc, description: 'told when the balance falls below this; 0 is never' }),
  own: Type.Boolean({ description: 'whether the wallet chose it, or the service has it for everybody' }),
});
const responses = { 200: answer, 400: errorText, 403: errorText, 404: errorText, 503: errorText };

export function accountNoticeRoutes(app: App, deps: AccountNoticeDeps): void {
  const { credits, auth, signatures, bodyOf } = deps;
  app.get(
    '/account/notice',
    {
      schema: {
        summary: "Below what balance the signer's wallet is told",
        headers: signatureHeaders,
        response: responses,
      },
    },
    async (request, reply) => {
      const { address } = await requireWallet(auth, request, reply);
      await answerNotice(credits, address, reply);
    },
  );
  app.put(
    '/account/notice',
    {
      bodyLimit: 1_024,
      schema: {
        summary:
          "Sets below what balance the signer's wallet is told; 0 is never, null as the service has it",
        headers: signatureHeaders,
        body: Type.Object({ winc: Type.Union([Type.String({ maxLength: 30 }), Type.Null()]) }),
        response: responses,
      },
      config: { acts: true, invalid: () => invalidNotice().body },
    },
    async (request, reply) => {
      const text = request.body.winc;
      const notice = text === null ? null : parseAmount(text);
      if (notice === undefined || (notice !== null && notice > MAX_WINC)) throw invalidNotice();
      const { address } = await actingWallet(request, signatures, bodyOf(request));
      if (!(await credits.setNotice(address, notice))) throw userNotFound();
      await answerNotice(credits, address, reply);
    },
  );
}

async function answerNotice(
  credits: AccountNoticeDeps['credits'],
  address: string,
  reply: Reply,
): Promise<void> {
  const { winc: amount, own } = await credits.notice(address);
  sendExact(reply, { winc: amount.toString(), own }, neverCache);
}
