/** Why an upload was not paid: what it costs, what the wallet has, and how it gets more. */
import type { Config } from '../../config/config.ts';
import { memberOf, tryParseJson } from '../../formats/json.ts';
import { inCredits } from '../amounts.ts';
import { findAddress } from '../run-file.ts';
import { ServiceClient } from '../service-client.ts';
import { serviceUrl } from '../service-url.ts';

const refused = 'there are not enough credits for this upload';

/** Only where the payment service is known: that of an upload service elsewhere is not. */
export async function explainCredits(
  config: Config,
  address: string,
  bytes: number,
  uploadUrl: string | undefined,
): Promise<string> {
  if (uploadUrl !== undefined && uploadUrl !== findAddress(config.DATA_DIR, 'upload')) return refused;
  const url = serviceUrl(config, 'payment');
  const payment = new ServiceClient('payment service', url, 10_000);
  const wincAt = async (path: string): Promise<bigint | undefined> => {
    const { status, text } = await payment.call(path);
    if (status === 404) return 0n;
    const winc = memberOf(tryParseJson(text), 'winc');
    return typeof winc === 'string' && /^-?[0-9]{1,40}$/.test(winc) ? BigInt(winc) : undefined;
  };
  const [price, balance] = await Promise.all([
    wincAt(`/v1/price/bytes/${bytes}`),
    wincAt(`/v1/account/balance?address=${address}`),
  ]).catch(() => []);
  if (price === undefined || balance === undefined) return refused;
  const cost = `${bytes} bytes cost ${inCredits(price)} credits, and ${address} has ${inCredits(balance)}`;
  return `${refused}: ${cost}\n${howToGetMore(config, address, url)}`;
}

/** One line: where credits are bought, or given on the local network. */
export function howToGetMore(config: Config, address: string, paymentUrl: string): string {
  return config.WORLD === 'local'
    ? `to get more: turnpike faucet ${address} 1 credits`
    : `to get more: open the address that ${paymentUrl}/v1/top-up/checkout-session/${address}/usd/1000 answers`;
}
