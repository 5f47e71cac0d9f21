/** What the card door answers when it refuses (interface §4.1). */
import { HttpError } from '../../kernel/errors.ts';

export const invalidMethod = () =>
  new HttpError(400, 'Payment method must include one of: payment-intent,checkout-session!');
export const invalidAmount = (detail = '') =>
  new HttpError(400, `Payment Amount is Invalid!${detail === '' ? '' : ` ${detail}`}`);
export const unsupportedCurrency = (code: string) =>
  new HttpError(400, `The currency type '${shown(code)}' is currently not supported by this API!`);
export const invalidAddressType = (type: string) =>
  new HttpError(400, `Invalid destination address type: ${shown(type)}`);
export const invalidUiMode = () => new HttpError(400, 'Invalid ui mode! Allowed modes: "hosted,embedded"');
export const invalidUrl = (url: string) => new HttpError(400, `Invalid url provided: ${shown(url)}!`);
export const invalidGiftMessage = () => new HttpError(400, 'Invalid gift message!');
export const invalidDestination = () =>
  new HttpError(403, 'Destination address is not a valid Arweave native address!');
export const providerUnavailable = (cause: unknown) =>
  new HttpError(503, 'Payment provider unavailable', { cause, retryAfter: 10 });
/** Clients tell a service without cards by these words. */
export const cardsDisabled = () => new HttpError(503, 'Fiat (Stripe) payments are disabled');
export const webhookRefused = (cause: unknown) => new HttpError(400, 'Webhook Error!', { cause });

/** What a caller sent, short enough to send back. */
const shown = (text: string) => text.slice(0, 200);
