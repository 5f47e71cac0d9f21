/** The wallet that x402 payments go to. */
import { StartupError } from '../../kernel/errors.ts';
import { parseEthereumAddress } from '../../wallets/ethereum/address.ts';

/** The wallet that is paid to; throws `StartupError` where the text is none. */
export function x402Payee(address: string): string {
  const payee = parseEthereumAddress(address);
  if (payee === undefined) {
    throw new StartupError(`X402_PAYMENT_ADDRESS is not an Ethereum address: ${address}`);
  }
  return payee;
}
