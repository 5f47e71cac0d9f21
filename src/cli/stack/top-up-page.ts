/** Where people are sent who lack credits. */
import type { Config } from '../../config/config.ts';
import { urlHost } from '../../kernel/http/server.ts';

/** `own`: addresses of what this process runs, empty where it is not started here. */
export function topUpPageOf(
  config: Pick<Config, 'PAYMENT_PAGE_URL' | 'PAYMENT_URL' | 'HOST' | 'PAYMENT_PORT'>,
  own: { readonly console: string; readonly payment: string },
  address: string,
): string {
  const { PAYMENT_PAGE_URL: page } = config;
  if (page !== undefined) return page.replaceAll('{address}', encodeURIComponent(address));
  if (own.console !== '') return `${own.console}/account/${address}`;
  const payment =
    config.PAYMENT_URL ?? (own.payment || `http://${urlHost(config.HOST)}:${config.PAYMENT_PORT}`);
  return `${payment.replace(/\/+$/, '')}/v1/top-up/checkout-session/${address}/usd/1000`;
}
