/** How the payer wants to pay: the page's mode and where it leads afterwards. */
import type { CheckoutPage } from '../../credits/card/card.ts';
import { invalidUiMode, invalidUrl } from './errors.ts';

export interface CheckoutQuery {
  readonly uiMode?: string;
  readonly returnUrl?: string;
  readonly successUrl?: string;
  readonly cancelUrl?: string;
}

const longestUrl = 2_048;

/** `home` is where a payer goes when the request does not say. */
export function readCheckoutPage(query: CheckoutQuery, home: string): CheckoutPage {
  const uiMode = query.uiMode ?? 'hosted';
  const returnUrl = checkUrl(query.returnUrl);
  const successUrl = checkUrl(query.successUrl) ?? home;
  const cancelUrl = checkUrl(query.cancelUrl) ?? home;
  if (uiMode === 'hosted') return { uiMode, successUrl, cancelUrl };
  if (uiMode === 'embedded') return { uiMode, returnUrl };
  throw invalidUiMode();
}

function checkUrl(url: string | undefined): string | undefined {
  if (url === undefined || url === '') return undefined;
  if (url.length > longestUrl || !/^https?:\/\//i.test(url) || !URL.canParse(url)) throw invalidUrl(url);
  return url;
}

/** The page that led here, for attribution; undefined when it is no web address. */
export function readReferer(header: string | undefined): string | undefined {
  if (header === undefined || header.length > longestUrl || !URL.canParse(header)) return undefined;
  const { protocol, origin, pathname } = new URL(header);
  return protocol === 'http:' || protocol === 'https:' ? `${origin}${pathname}` : undefined;
}
