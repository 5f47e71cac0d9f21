/** `type` and `qty` of the top-up: how much storage, or how many credits, the payer wants. */
import type { Pricing } from '../../pricing/pricing.ts';
import { WINC_PER_CREDIT, type Winc, winc } from '../../pricing/pricing.ts';

export type Wanted =
  | { readonly kind: 'bytes'; readonly bytes: number }
  | { readonly kind: 'credits'; readonly winc: Winc };

/** Undefined for what is no quantity: `1e3`, `0`, `-1`, more than twelve places, more than there can be. */
export function parseWanted(type: string | undefined, qty: string | undefined): Wanted | undefined {
  if (qty === undefined) return undefined;
  if (type === 'bytes') {
    if (!/^[1-9][0-9]{0,15}$/.test(qty)) return undefined;
    const bytes = Number(qty);
    return Number.isSafeInteger(bytes) ? { kind: 'bytes', bytes } : undefined;
  }
  if (type !== 'credits') return undefined;
  const match = /^([1-9][0-9]{0,11})(?:\.([0-9]{1,12}))?$/.exec(qty);
  if (match === null) return undefined;
  const [, whole = '', part = ''] = match;
  return { kind: 'credits', winc: winc(BigInt(whole) * WINC_PER_CREDIT + BigInt(part.padEnd(12, '0'))) };
}

/** So many bytes are one upload of them: what it would be charged, the charge per item included. */
export async function wincWanted(wanted: Wanted, pricing: Pick<Pricing, 'quoteBytes'>): Promise<Winc> {
  if (wanted.kind === 'credits') return wanted.winc;
  const quote = await pricing.quoteBytes(wanted.bytes);
  return quote.winc > 0n ? quote.winc : winc(1n);
}
