/** Who an upload request wants charged, and where it comes from. */
import { MAX_PAYERS } from '../../credits/credits.ts';
import { HttpError } from '../../kernel/errors.ts';
import { clientAddress, networkOf, plainAddress } from '../../kernel/http/client-network.ts';
import type { Request } from '../../kernel/http/server.ts';
import { normalizeAddress } from '../../wallets/address.ts';

/**
 * `x-paid-by`: payers in order of preference, separated by commas, in one header or several. What is no address
 * can have lent nothing and is passed over, as is a wallet that lent nothing.
 */
export function readPaidBy(request: Request): string[] {
  const header = request.headers['x-paid-by'];
  const text = Array.isArray(header) ? header.join(',') : (header ?? '');
  const named = text.split(',').flatMap((part) => normalizeAddress(part.trim()) ?? []);
  const payers = [...new Set(named)];
  if (payers.length > MAX_PAYERS) throw new HttpError(400, `At most ${MAX_PAYERS} payers can be asked`);
  return payers;
}

/** The client's network: behind `proxies` proxies of ours, of the address that the outermost of them saw. */
export function clientNetwork(request: Request, proxies: number): string {
  return networkOf(plainAddress(clientAddress(request, proxies)));
}
