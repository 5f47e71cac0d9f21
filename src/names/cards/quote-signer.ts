/**
 * Who signed a card quote. That wallet will owe the price if the payment goes back, so the signature must be one that
 * acts: over a nonce that published clients sign for nothing else, never shown before, used up here for good.
 */
import type { Request } from '../../kernel/http/app.ts';
import { UniqueViolation } from '../../storage/sql/sql.ts';
import type { WalletAddress } from '../../wallets/address.ts';
import type { ActionContext } from '../actions/context.ts';
import { payerKey } from '../actions/create.ts';
import { NamesError } from '../errors.ts';
import { payerOf, requireActingNonce } from '../payer.ts';

/** Undefined where nobody signed, or where the signature was seen before or made to read: then nobody owes. */
export async function quoteSigner(
  request: Request,
  { sql, nonces, store }: Pick<ActionContext, 'sql' | 'nonces' | 'store'>,
): Promise<WalletAddress | undefined> {
  if (request.headers['x-signature'] === undefined) return undefined;
  const payer = await payerOf(request);
  if (payer === undefined) return undefined;
  const { wallet, nonce } = payer;
  try {
    requireActingNonce(payer);
    if ((await store.byNonce(nonce)) !== undefined) return undefined;
    const signer = payerKey(wallet.address);
    await sql.transaction(async (tx) => {
      await nonces.spendIn(tx, signer, nonce);
      // The quote may be disputed long after other nonces are forgotten: nobody shall sign another with this one.
      await tx.run(
        'UPDATE arns_spent_nonce SET expires_at = ? WHERE signer = ? AND nonce = ?',
        Number.MAX_SAFE_INTEGER,
        signer,
        nonce,
      );
    });
    return wallet;
  } catch (error) {
    if (error instanceof NamesError || error instanceof UniqueViolation) return undefined;
    throw error;
  }
}
