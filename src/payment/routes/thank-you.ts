/**
 * GET /thank-you?quote={topUpQuoteId}: where a payer lands after paying by card, unless the order or `APP_URL` names
 * another place. Only who paid, or gave the payment its quote, knows the id. Programs, which ask for JSON, are told its state.
 */
import { Type } from 'typebox';
import type { Credits } from '../../credits/credits.ts';
import type { App, Reply } from '../../kernel/http/app.ts';
import { html, type Markup } from '../../kernel/http/page/html.ts';
import { sendPage, writePage } from '../../kernel/http/page/page.ts';
import type { CardQuote, PurposePayments, QuoteState } from '../../payments/card/card.ts';
import { creditsText, neverCache } from '../answers.ts';

export const thankYouPath = '/thank-you';

/** Webhooks come within a second or two; the page looks again until then. */
const lookAgainSeconds = 2;

export interface ThankYouDeps {
  readonly topUps: Pick<PurposePayments, 'quote'>;
  readonly credits: Pick<Credits, 'balance'>;
}

export function thankYouRoute(app: App, { topUps, credits }: ThankYouDeps): void {
  app.get(
    thankYouPath,
    {
      schema: {
        hide: true,
        querystring: Type.Object({ quote: Type.Optional(Type.String({ maxLength: 64 })) }),
      },
    },
    async ({ query, headers }, reply) => {
      const quote = query.quote === undefined ? undefined : await topUps.quote(query.quote);
      reply.header('vary', 'accept');
      if (headers.accept?.startsWith('application/json')) return tell(reply, quote);
      if (quote === undefined) return send(reply, 404, 'No such payment', unknown);
      if (quote.state === 'opening' || quote.state === 'quoted') {
        reply.header('refresh', String(lookAgainSeconds));
        return send(reply, 200, 'Waiting for the payment', waiting);
      }
      if (quote.state !== 'paid') return send(reply, 200, 'Nothing was bought', takenBack(quote));
      if (quote.addressType === 'email') return send(reply, 200, 'Thank you', gift(quote));
      const balance = (await credits.balance(quote.address))?.winc ?? 0n;
      return send(reply, 200, 'Thank you', thanks(quote, balance < 0n ? 0n : balance));
    },
  );
}

const toldStates: Readonly<Record<QuoteState, 'waiting' | 'paid' | 'failed' | 'refunded'>> = {
  opening: 'waiting',
  quoted: 'waiting',
  paid: 'paid',
  failed: 'failed',
  refunded: 'refunded',
  charged_back: 'refunded',
};

function tell(reply: Reply, quote: CardQuote | undefined): Reply {
  reply.header('cache-control', neverCache);
  if (quote === undefined) return reply.code(404).send({ state: 'unknown' });
  return reply.send({ state: toldStates[quote.state], winc: quote.winc.toString() });
}

function send(reply: Reply, status: number, title: string, body: Markup): Reply {
  return sendPage(reply, status, writePage(title, html`<h1>${title}</h1>${body}`, 'Turnpike'));
}

const unknown = html`<p>There is no payment at this address. It may have been copied incompletely.</p>`;

const waiting = html`<p>The card provider has not told us yet whether it went through. This takes a moment; the page looks
again by itself.</p>`;

const takenBack = ({ state }: CardQuote): Markup =>
  state === 'failed'
    ? html`<p>The payment did not go through, or came too late. Whatever was charged goes back to the card.</p>`
    : html`<p>This payment has gone back to the card, and its credits were taken back.</p>`;

const gift = ({ id, winc }: CardQuote): Markup =>
  html`<p>You have bought ${creditsText(winc)} credits as a gift. They wait for a year; whoever has the email address they
are for redeems them with this number:</p>
<pre>${id}</pre>`;

const thanks = ({ winc, address }: CardQuote, balance: bigint): Markup =>
  html`<p>You have bought ${creditsText(winc)} credits.</p>
<h2>Balance now</h2>
<p class="figure">${creditsText(balance)} <span class="soft">credits</span></p>
<p class="soft">of the wallet ${address}</p>
<h2>Next</h2>
<p>Store something with them:</p>
<pre>turnpike upload hello.txt --wallet wallet.json</pre>`;
