/**
 * Every error of the names surface with its status and exact body (interface §4.2, §7). Clients read the texts:
 * `credits have been returned`, `expired and was refunded`, `Blockhash not found` decide what they do next.
 */
import { InsufficientCredits } from '../credits/credits.ts';
import { type Lack, lackHeaders, lackWords } from '../credits/lack.ts';
import { type AnswerOptions, HttpError } from '../kernel/errors.ts';
import { OracleUnavailable, PromoCodeRefused } from '../pricing/pricing.ts';
import { isChainFailure } from '../registry/errors.ts';
import { DatabaseUnavailable } from '../storage/sql/sql.ts';
import { LockLost, LockTimeout } from './locks.ts';

export class NamesError extends HttpError {
  override readonly name = 'NamesError';
}

const answer = (status: number, body: string, options?: AnswerOptions) =>
  new NamesError(status, body, options);

/** 400: the request itself is wrong; nothing was charged. */
export const badRequest = (body: string) => answer(400, body);
export const invalidName = () => answer(400, 'Invalid ArNS name');
export const nameExists = (name: string) => answer(400, `Name ${name} already exists`);
export const nameMissing = (name: string) => answer(400, `Name ${name} does not exist`);
export const namePermanent = (name: string) => answer(400, `Name ${name} is a permabuy`);
export const nameReserved = (name: string) => answer(400, `Name ${name} is reserved`);
export const nameInAuction = (name: string) =>
  answer(400, `Name ${name} is in a returned-name auction and cannot be bought with credits yet`);
export const missingType = () =>
  answer(400, "Missing required parameter: type. Must be either 'permabuy' or 'lease'");
export const invalidNonce = () =>
  answer(400, 'Invalid nonce parameter. Nonce must be a UUID for signed write actions');
export const notYourToken = () =>
  answer(400, 'This ANT is held by the service: only its buyer may transfer it');
export const unknownTokenProgram = (program: string) =>
  answer(
    400,
    `The token of this name belongs to the program ${program}, which this service does not act on; nothing was charged`,
  );
export const notAnAnt = (processId: string) => answer(400, `processId ${processId} is not an ANT`);
export const purchaseNotFound = () => answer(400, 'Purchase status not found');
export const invalidParameters = () => answer(400, 'Invalid parameters');

/** 401: who asks is not who may. */
export const signatureRequired = () => answer(401, 'Signed request is required for this route');
export const unboundSignature = () => answer(401, 'Invalid or unbound signature for this action');
export const signatureForAnotherService = () => answer(401, 'The signature is for another service');
export const unboundRefused = () =>
  answer(401, 'This service takes only signatures that name it (x-service-address) and cover the request');
export const ownerNonceRefused = () =>
  answer(401, 'Invalid or unbound signature for this action: x-owner-nonce must be a UUID');
export const nonceReplayed = () => answer(401, 'Nonce already used — replay rejected');

/** Published clients look for the words before the colon. */
export function insufficientBalance(address: string, lack?: Lack): NamesError {
  const words = `Insufficient balance for '${address}'`;
  if (lack === undefined) return answer(402, words);
  return answer(402, `${words}: ${lackWords(lack)}`, { headers: lackHeaders(lack) });
}

export const unknownAction = (action: string) => answer(404, `Unknown action ${action}`);
export const actionNotFound = () => answer(404, 'Action not found');
export const antNotFound = (antId: string) => answer(404, `ANT ${antId} not found`);

export const tooManyOpenActions = (limit: number) =>
  answer(429, `At most ${limit} actions may wait for a signature at a time; sign or let one expire first`, {
    retryAfter: 60,
  });

/** 409: a nonce stands for the first request that was signed with it. */
export const nonceOfAnother = () =>
  answer(409, 'This nonce was used for another request; nothing was done, sign a new nonce');

/** 409: the blockhash is provably dead and the chain has not seen the signature. */
export const signedTooLate = (refunded: boolean) =>
  answer(
    409,
    'The signed transaction expired before it could be submitted: Solana only accepts a transaction for about 30 seconds after it is built. ' +
      (refunded ? 'Your credits have been returned. ' : '') +
      'Start the action again and approve it promptly.',
  );

const oracleUnavailable = (retryAfter?: number) =>
  answer(503, 'Price Oracle Unavailable', retryAfter === undefined ? {} : { retryAfter });
export const databaseUnavailable = () => answer(503, 'Database unavailable', { retryAfter: 5 });
export const cardUnavailable = (cause?: unknown) =>
  answer(503, 'Payment provider unavailable', { retryAfter: 5, cause });
export const cardSwitchedOff = () => answer(503, 'Fiat (Stripe) ArNS payments are disabled');
export const signerMissing = () => answer(503, 'This service has no Solana key and cannot act on names');
export const chainUnavailable = (cause?: unknown) =>
  answer(503, 'The name chain is unavailable', { retryAfter: 5, cause });
export const chainUnreadable = (cause?: unknown) =>
  answer(
    503,
    "Could not read the ANT's on-chain state; nothing was decided and your credits are still reserved",
    { retryAfter: 5, cause },
  );
export const notYetSeen = () =>
  answer(503, 'Blockhash not found by the node yet; send the same signed transaction again', {
    retryAfter: 2,
  });
/** Others are at work on the same name or token, or it is not known yet what became of what they did. */
export const stillBusy = () =>
  answer(503, 'Another request for the same name is still on its way; nothing was done for this one', {
    retryAfter: 5,
  });
export const sponsorEmpty = () =>
  answer(503, 'This service cannot pay for names at the moment', { retryAfter: 60 });

/** For the `catch` of a promise: a failure of the chain as this answer, anything else as it is. */
export const chainFailureAs =
  (failure: (cause: unknown) => NamesError) =>
  (error: unknown): never => {
    throw isChainFailure(error) ? failure(error) : error;
  };

/** What the rooms below throw, as an answer of this surface; anything else as it is. */
export function translateError(error: unknown): unknown {
  if (error instanceof DatabaseUnavailable) return databaseUnavailable();
  if (error instanceof OracleUnavailable) return oracleUnavailable(error.retryAfter);
  if (isChainFailure(error)) return chainUnavailable(error);
  if (error instanceof LockTimeout || error instanceof LockLost) return stillBusy();
  if (error instanceof InsufficientCredits) return insufficientBalance(error.address);
  if (error instanceof PromoCodeRefused) return badRequest(error.message);
  return error;
}
