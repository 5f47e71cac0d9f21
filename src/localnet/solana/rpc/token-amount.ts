/** Amounts of a token as the RPC tells them: whole units, decimals, and a text that loses nothing. */
import { uiAmount } from '../programs/token.ts';

export function tokenAmount(amount: bigint, decimals: number): object {
  const text = uiAmount(amount, decimals);
  return { amount: amount.toString(), decimals, uiAmount: Number(text), uiAmountString: text };
}
