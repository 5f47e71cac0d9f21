/** What a paid top-up does: it credits the wallet, or leaves a gift for the email address it was bought for. */

import type { Credits, FiatPayment, Winc } from '../../credits/credits.ts';
import {
  cardProviderName,
  type PaidQuote,
  type PurchaseHandlers,
  type Reversal,
} from '../../payments/card/card.ts';
import type { SqlExecutor } from '../../storage/sql/sql.ts';
import type { RequestWallet } from '../auth/request-wallet.ts';
import type { Gifts } from '../gifts.ts';

export function topUpPurchases(credits: Credits, gifts: Gifts): PurchaseHandlers {
  return {
    async paidIn(tx, quote) {
      if (isGift(quote)) return giveIn(tx, quote, quote.winc);
      await credits.within(tx).credit({
        address: quote.address,
        addressType: quote.addressType,
        amount: quote.winc,
        reason: 'payment',
        id: quote.receiptId,
        payment: paymentOf(quote),
      });
    },

    async takenBackIn(tx, quote, reversal) {
      const wallet = await holderIn(tx, quote, reversal);
      if (wallet === undefined) return;
      const { id, amount, reason } = reversal;
      await credits.within(tx).clawback({ ...wallet, amount, reason, id });
    },

    async givenBackIn(tx, quote, reversal) {
      const wallet = await holderIn(tx, quote, reversal);
      if (wallet === undefined) return;
      const { id, amount } = reversal;
      await credits.within(tx).credit({ ...wallet, amount, reason: 'chargeback_reversed', id });
    },
  };

  /** Who has the winc. A gift that nobody has redeemed is made anew with what is left, and nobody has it. */
  async function holderIn(
    tx: SqlExecutor,
    quote: PaidQuote,
    { remaining }: Reversal,
  ): Promise<RequestWallet | undefined> {
    if (!isGift(quote)) return { address: quote.address, addressType: quote.addressType };
    const redeemer = await gifts.withdrawIn(tx, quote.receiptId);
    if (redeemer === undefined && remaining > 0n) await giveIn(tx, quote, remaining);
    return redeemer;
  }

  function giveIn(tx: SqlExecutor, quote: PaidQuote, amount: Winc): Promise<void> {
    return gifts.createIn(tx, {
      receiptId: quote.receiptId,
      quoteId: quote.id,
      email: quote.address,
      amount,
      payment: paymentOf(quote),
    });
  }
}

const isGift = (quote: PaidQuote) => quote.addressType === 'email';

function paymentOf(quote: PaidQuote): FiatPayment {
  const { giftMessage } = quote.details;
  return {
    type: 'fiat',
    paymentAmount: quote.paymentAmount.toString(),
    currencyType: quote.currency,
    paymentProvider: cardProviderName,
    receiptId: quote.receiptId,
    giftMessage: typeof giftMessage === 'string' ? giftMessage : null,
  };
}
