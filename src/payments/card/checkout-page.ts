/** How the payer wants to pay: the page's mode and where it leads afterwards (interface §4.1, §4.2). */
import type { CheckoutPage } from './card.ts';
import { CheckoutRefused } from './errors.ts';

export interface CheckoutQuery {
  readonly uiMode?: string | undefined;
  readonly returnUrl?: string | undefined;
  readonly successUrl?: string | undefined;
  readonly cancelUrl?: string | undefined;
}

/** Where a payer goes when the request does not say: to the application, or without one to the service itself. */
export interface CheckoutHome {
  readonly appUrl: string | undefined;
  readonly home: string;
  /** In place of the service's own address after paying. */
  readonly thanks?: string;
}

const longestUrl = 2_048;

/** Throws `CheckoutRefused`. */
export function readCheckoutPage(query: CheckoutQuery, where: CheckoutHome): CheckoutPage {
  const { appUrl, home, thanks = home } = where;
  const uiMode = query.uiMode ?? 'hosted';
  const successUrl = readUrl(query.successUrl) ?? appUrl ?? thanks;
  const cancelUrl = readUrl(query.cancelUrl) ?? appUrl ?? home;
  const returnUrl = readUrl(query.returnUrl) ?? appUrl;
  if (uiMode === 'hosted') return { uiMode, successUrl, cancelUrl };
  if (uiMode === 'embedded') return { uiMode, returnUrl };
  throw new CheckoutRefused('uiMode', uiMode);
}

function readUrl(url: string | undefined): string | undefined {
  if (url === undefined || url === '') return undefined;
  if (url.length > longestUrl || !/^https?:\/\//i.test(url) || !URL.canParse(url)) {
    throw new CheckoutRefused('url', url);
  }
  return url;
}
