/** Back to the card: the provider refunds part of the payment, and knows the return by its id. */
import type { CardPayments } from '../../card/card.ts';
import { CardProviderUnavailable } from '../../card/errors.ts';
import { CannotSend, type WayBack } from '../returns.ts';

export function cardWay(cards: Pick<CardPayments, 'refundReturn'>): WayBack {
  return {
    prepare: async () => undefined,
    async deliver({ id, quoteId, amount }) {
      if (quoteId === undefined) throw new Error(`return ${id} of a card payment names no quote`);
      const part = await cards.refundReturn(quoteId, id, Number(amount)).catch((error: unknown) => {
        if (!(error instanceof CardProviderUnavailable)) throw error;
        throw new CannotSend('the card provider does not answer', { cause: error });
      });
      if (part.state === 'failed') return part;
      const { reference } = part;
      return { state: part.state === 'made' ? 'confirmed' : 'waiting', reference };
    },
  };
}
