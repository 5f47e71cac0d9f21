/** What the payment service tells everybody of an address. */
import { memberOf, textOf } from '../../formats/json.ts';
import { askJson } from './gateway.ts';
import { serviceUrl } from './settings.ts';

/** In winc; undefined for an address that has no account. */
export async function readCredits(address: string, signal?: AbortSignal): Promise<bigint | undefined> {
  const url = serviceUrl('payment');
  if (url === undefined) return undefined;
  const path = `${url}/v1/account/balance?address=${encodeURIComponent(address)}`;
  const raw = await askJson(path, signal && { signal });
  const winc = textOf(raw, 'winc', 60);
  return winc !== undefined && /^[0-9]+$/.test(winc) ? BigInt(winc) : undefined;
}

/** Names that were bought by or for an address. */
export async function readBoughtNames(address: string, signal?: AbortSignal): Promise<readonly string[]> {
  const url = serviceUrl('payment');
  if (url === undefined) return [];
  const raw = await askJson(`${url}/v1/arns/my-names/${encodeURIComponent(address)}`, signal && { signal });
  const names = memberOf(raw, 'names');
  return [...new Set((Array.isArray(names) ? names : []).flatMap((each) => textOf(each, 'name', 63) ?? []))];
}

/** Dollars for one AR; undefined where no service says. */
export async function readArPrice(signal?: AbortSignal): Promise<number | undefined> {
  const url = serviceUrl('payment');
  if (url === undefined) return undefined;
  const rate = memberOf(await askJson(`${url}/v1/rates/usd`, signal && { signal }), 'rate');
  return typeof rate === 'number' ? rate : undefined;
}
