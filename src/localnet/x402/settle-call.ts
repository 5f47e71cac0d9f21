/** The call by which a facilitator takes a permitted amount, as it stands in a transaction of the chain (ABI encoding). */
import type { PermitTerms, TransferAuthorization } from '../../formats/x402/payment.ts';
import { keccak256 } from '../../wallets/ethereum/keccak.ts';

const signature =
  'settle(((address,uint256),uint256,uint256),uint256,address,(address,address,uint256),bytes)';
const selector = Buffer.from(keccak256(Buffer.from(signature)))
  .toString('hex')
  .slice(0, 8);

export function settleCall(
  { from, to, value, validAfter, validBefore, nonce }: TransferAuthorization,
  { token, facilitator }: PermitTerms,
  amount: bigint,
  signed: string,
): string {
  const permit = [token, value, nonce, validBefore];
  const witness = [to, facilitator, validAfter];
  const head = [...permit, amount, from, ...witness];
  const bytes = signed.slice(2);
  // The signature comes behind the words, its own place included.
  const place = (head.length + 1) * 32;
  const words = [...head, place, bytes.length / 2].map((value) =>
    BigInt(value).toString(16).padStart(64, '0'),
  );
  return `0x${selector}${words.join('')}${bytes.padEnd(Math.ceil(bytes.length / 64) * 64, '0')}`;
}
