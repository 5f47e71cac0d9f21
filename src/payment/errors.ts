/** Every refusal of the payment service with its status and exact text (interface §4.1). */
import { HttpError } from '../kernel/errors.ts';

export const invalidSignature = () => new HttpError(403, 'Invalid signature or missing required headers');
export const nonceNotUuid = () => new HttpError(403, 'The nonce of a signature that acts must be a UUID');
export const signatureForAnotherService = () =>
  new HttpError(403, 'The signature is for another service (x-service-address)');
export const signatureNotForRequest = () =>
  new HttpError(403, 'The signature does not cover this request and its body');
export const signatureUsed = () => new HttpError(403, 'The signature was used before');
export const userNotFound = () => new HttpError(404, 'User Not Found');

export const invalidByteCount = () => new HttpError(400, 'Invalid byte count');
export const byteCountTooLarge = () => new HttpError(400, 'Byte count too large');

export const invalidPaymentAmount = () => new HttpError(400, 'Payment Amount is Invalid');
export const unsupportedCurrency = (code: string) =>
  new HttpError(400, `The currency type '${code}' is currently not supported by this API!`);
export const invalidCurrency = () => new HttpError(404, 'Invalid currency');
export const promoCodeNeedsWallet = () =>
  new HttpError(
    400,
    'Promo codes must be applied to a specific `destinationAddress` or to the request signer',
  );
export const invalidDestinationAddress = () => new HttpError(400, 'Invalid destinationAddress format');

export const missingAddress = () => new HttpError(400, 'Missing address in query parameters');
export const invalidAddress = (address: string) =>
  new HttpError(400, `Invalid address format: ${address.slice(0, 100)}`);

export const malformedApprovalQuery = (...names: string[]) =>
  new HttpError(400, `Malformed or missing required query parameters: ${names.join(', ')}`);
export const invalidPayingAddress = () => new HttpError(400, 'Invalid paying address!');
export const invalidApprovedAddress = () => new HttpError(400, 'Invalid approved address');

export const invalidNotice = () =>
  new HttpError(400, 'Invalid winc: must be an amount as decimal digits, or null');
export const invalidEventQuery = (why: string) => new HttpError(400, why);
export const invalidLimit = () => new HttpError(400, 'Invalid limit: must be an integer from 1 to 100');
export const invalidDays = () => new HttpError(400, 'Invalid days: must be an integer from 1 to 366');
export const invalidCursor = () => new HttpError(400, 'Invalid cursor');

export const missingTransactionId = () => new HttpError(400, 'Missing tx_id in request body');
export const tokenNotSupported = () => new HttpError(400, 'Token not supported');
export const zeroQuantity = () => new HttpError(400, 'Transaction quantity must be greater than 0');
export const wrongTarget = (id: string, target: string) =>
  new HttpError(400, `Payment transaction '${id}' has wrong target address '${target}'`);
export const notMinedYet = (id: string) =>
  new HttpError(400, `Transaction with id '${id}' has not been mined yet!`);
export const excludedSender = (id: string, sender: string) =>
  new HttpError(
    403,
    `Payment transaction '${id}' has sender that is on the excluded address list: '${sender}'`,
  );
export const paymentTooSmall = (message: string) => new HttpError(400, message);
export const transactionNotFound = () => new HttpError(404, 'Transaction ID not found!');
export const tooManyLookUps = (retryAfter: number) =>
  new HttpError(429, 'Too many unknown transactions were reported from your network', { retryAfter });
export const transactionFailure = (cause: unknown, retryAfter = 5) =>
  new HttpError(503, 'Error while processing transaction!', { cause, retryAfter });

export const giftAddressInvalid = () =>
  new HttpError(400, 'Provided destination address is not a valid native address!');
export const giftEmailInvalid = () =>
  new HttpError(400, 'Provided recipient email address is not a valid email!');
export const giftRedeemed = () => new HttpError(400, 'Gift has already been redeemed!');
export const giftFailure = () => new HttpError(400, 'Failure to redeem payment receipt!');

export const invalidMethod = () =>
  new HttpError(400, 'Payment method must include one of: payment-intent,checkout-session!');
export const invalidAmount = (detail = '') =>
  new HttpError(400, `Payment Amount is Invalid!${detail === '' ? '' : ` ${detail}`}`);
export const invalidAddressType = (type: string) =>
  new HttpError(400, `Invalid destination address type: ${shortened(type)}`);
export const invalidUiMode = () => new HttpError(400, 'Invalid ui mode! Allowed modes: "hosted,embedded"');
export const invalidUrl = (url: string) => new HttpError(400, `Invalid url provided: ${shortened(url)}!`);
export const invalidGiftMessage = () => new HttpError(400, 'Invalid gift message!');
export const invalidDestination = () =>
  new HttpError(403, 'Destination address is not a valid Arweave native address!');
export const providerUnavailable = (cause: unknown) =>
  new HttpError(503, 'Payment provider unavailable', { cause, retryAfter: 10 });
/** Clients tell a service without cards by these words. */
export const cardsDisabled = () => new HttpError(503, 'Fiat (Stripe) payments are disabled');
export const webhookRefused = (cause: unknown) => new HttpError(400, 'Webhook Error!', { cause });

export const signatureMustCover = () =>
  new HttpError(
    403,
    'The signature must name this service (x-service-address), cover the request, and have a UUID as its nonce',
  );
export const invalidReturnAmount = () =>
  new HttpError(400, 'Invalid amount - must be winc, a whole number above 0');
const returnStatuses = { off: 403, unknown: 404, 'not-returnable': 409, amount: 400 } as const;
export const returnRefused = (kind: keyof typeof returnStatuses, message: string) =>
  new HttpError(returnStatuses[kind], message);

export const invalidQuantity = () => new HttpError(400, 'Invalid quantity parameter');
export const invalidAddressParameter = () => new HttpError(400, 'Invalid address parameter');

/** What a caller sent, short enough to send back. */
export const shortened = (text: string) => text.slice(0, 200);
