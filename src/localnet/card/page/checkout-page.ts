/**
 * The page that a checkout session is paid on: complete without scripts, usable with a keyboard and a screen
 * reader, and with nothing to fetch from anywhere.
 */
import { html, Markup, type Part } from '../../../kernel/http/page/html.ts';
import { sourceHash } from '../../../kernel/http/page/page.ts';
import type { CheckoutSession, LineItem } from '../objects.ts';
import { testCards } from '../test-cards.ts';
import type { FieldName, Typed, Wrong } from './checkout-form.ts';
import { script } from './script.ts';
import { style } from './style.ts';

/**
 * Only our own style and script. `form-action` must name where the answer redirects to as well, since browsers
 * apply it to the redirect; only hosted pages refuse to be framed.
 */
export function securityPolicy(session: CheckoutSession | undefined): string {
  const targets = [session?.success_url, session?.return_url].flatMap((url) =>
    url == null || !URL.canParse(url) ? [] : [new URL(url).origin],
  );
  const frames = session?.client_secret == null ? "frame-ancestors 'none'" : 'frame-ancestors *';
  return [
    "default-src 'none'",
    `style-src ${sourceHash(style)}`,
    `script-src ${sourceHash(script)}`,
    `form-action ${["'self'", ...targets].join(' ')}`,
    "base-uri 'none'",
    frames,
  ].join('; ');
}

/** `1000` usd as `$10.00`, `1500` jpy as `¥1,500`. */
export function money(amount: number, currency: string): string {
  const format = new Intl.NumberFormat('en-US', { style: 'currency', currency });
  const places = format.resolvedOptions().maximumFractionDigits ?? 2;
  return format.format(amount / 10 ** places);
}

export interface CheckoutView {
  readonly session: CheckoutSession;
  readonly items: readonly LineItem[];
  readonly action: string;
  readonly typed: Typed;
  readonly wrong: Wrong;
  /** Why the card refused, if it did. */
  readonly declined: string | undefined;
}

export function checkoutPage(view: CheckoutView): string {
  const { session, items } = view;
  const total = money(session.amount_total, session.currency);
  const title = `Pay ${total}`;
  return document(
    title,
    session.client_secret !== null,
    html`<main class="checkout">
  <section class="order" aria-label="Order"><div>
    ${
      session.cancel_url === null
        ? undefined
        : html`<a class="back" href="${session.cancel_url}"><span aria-hidden="true">←</span> Back</a><br>`
    }
    <span class="badge">Test mode – no real card is charged</span>
    <p class="what">${items[0]?.description}</p>
    <h1 class="total">${total}</h1>
    <ul class="items">${items.map((item) => itemRow(item, session.currency))}</ul>
  </div></section>
  <section class="pay" aria-label="Payment"><div>
    <h2>Pay with card</h2>
    ${view.declined === undefined ? undefined : html`<p class="alert" role="alert" tabindex="-1">${view.declined}</p>`}
    <form method="post" action="${view.action}" novalidate>
      ${field(view, 'email', 'Email (optional)', html`type="email" autocomplete="email" placeholder="name@example.com"`)}
      ${field(view, 'number', 'Card number', html`inputmode="numeric" autocomplete="cc-number" placeholder="1234 1234 1234 1234" required`)}
      <div class="row">
        ${field(view, 'expiry', 'Expiry date', html`inputmode="numeric" autocomplete="cc-exp" placeholder="MM / YY" required`)}
        ${field(view, 'cvc', 'Security code', html`inputmode="numeric" autocomplete="cc-csc" placeholder="CVC" required`)}
      </div>
      ${field(view, 'name', 'Name on card', html`autocomplete="cc-name" required`)}
      <button class="submit" type="submit">Pay ${total}</button>
    </form>
    <details${view.wrong.number === undefined ? undefined : new Markup(' open')}>
      <summary>Test cards</summary>
      <table><tbody>${testCards.map(
        (card) => html`<tr>
        <td>${grouped(card.number)}</td>
        <td>${card.label}</td>
        <td><button type="button" class="use" data-number="${card.number}" aria-label="Use ${card.brand} ending in ${card.number.slice(-4)}: ${card.label}">Use</button></td>
      </tr>`,
      )}</tbody></table>
    </details>
    <p class="fine">Any future date and any security code will do.</p>
  </div></section>
</main>`,
    true,
  );
}

/** As it is printed on the card: groups of four, American Express 4-6-5. */
const grouped = (number: string) =>
  number.length === 15
    ? number.replace(/^(.{4})(.{6})(.{5})$/, '$1 $2 $3')
    : number.replace(/(.{4})(?=.)/g, '$1 ');

function itemRow(item: LineItem, currency: string): Markup {
  return html`<li><div><p>${item.description}${item.quantity > 1 ? ` × ${item.quantity}` : ''}</p>
    ${item.details === null ? undefined : html`<p class="details">${item.details}</p>`}</div>
    <span class="price">${money(item.amount_total, currency)}</span></li>`;
}

function field(view: CheckoutView, name: FieldName, label: string, attributes: Part): Markup {
  const wrong = view.wrong[name];
  // The security code is never sent back into a page.
  const value = name === 'cvc' ? '' : view.typed[name];
  return html`<div class="field">
        <label for="${name}">${label}</label>
        <input id="${name}" name="${name}" value="${value}" maxlength="320" ${attributes}${
          wrong === undefined ? undefined : html` aria-invalid="true" aria-describedby="${name}-wrong"`
        }>
        ${wrong === undefined ? undefined : html`<p class="wrong" id="${name}-wrong">${wrong}</p>`}
      </div>`;
}

/** A page that only says something: paid, expired, unknown. */
export function messagePage(title: string, text: string, link?: { href: string; label: string }): string {
  return document(
    title,
    false,
    html`<main class="message"><div><h1>${title}</h1><p>${text}</p>
    ${link === undefined ? undefined : html`<a href="${link.href}">${link.label}</a>`}</div></main>`,
    false,
  );
}

function document(title: string, embedded: boolean, body: Markup, withScript: boolean): string {
  return html`<!doctype html>
<html lang="en"${embedded ? new Markup(' class="embedded"') : undefined}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title}</title>
<style>${new Markup(style)}</style>
</head>
<body>
${body}
${withScript ? html`<script>${new Markup(script)}</script>` : undefined}
</body>
</html>
`.text;
}
