/** How the buyer wants to pay: the page's mode and where it leads afterwards. */
import type { CheckoutPage } from '../../credits/card/card.ts';
import { badRequest } from '../errors.ts';

export interface CheckoutQuery {
  readonly uiMode?: string | undefined;
  readonly returnUrl?: string | undefined;
  readonly successUrl?: string | undefined;
  readonly cancelUrl?: string | undefined;
}

/** A buyer goes to `appUrl`, or without one to `home`, when the request does not say (interface §4.2). */
export function readCheckoutPage(
  query: CheckoutQuery,
  appUrl: string | undefined,
  home: string,
): CheckoutPage {
  const successUrl = readUrl(query.successUrl) ?? appUrl ?? home;
  const cancelUrl = readUrl(query.cancelUrl) ?? appUrl ?? home;
  const returnUrl = readUrl(query.returnUrl) ?? appUrl;
  const uiMode = query.uiMode ?? 'hosted';
  if (uiMode === 'hosted') return { uiMode, successUrl, cancelUrl };
  if (uiMode === 'embedded') return { uiMode, returnUrl };
  throw badRequest('uiMode must be hosted or embedded');
}

function readUrl(url: string | undefined): string | undefined {
  if (url === undefined || url === '') return undefined;
  if (url.length > 2_048 || !/^https?:\/\//i.test(url) || !URL.canParse(url))
    throw badRequest('Invalid parameters');
  return url;
}
