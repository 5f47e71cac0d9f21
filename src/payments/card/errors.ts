/** Why card payments fail; surfaces choose the answer. */

/** What was paid for can no longer be delivered. */
export class PurchaseRefused extends Error {
  override readonly name = 'PurchaseRefused';
}

export class CardProviderUnavailable extends Error {
  override readonly name = 'CardProviderUnavailable';
}

/** The provider charges no such amount. */
export class CardAmountRefused extends Error {
  override readonly name = 'CardAmountRefused';
}

/** The provider did not sign it. */
export class WebhookRefused extends Error {
  override readonly name = 'WebhookRefused';
}

/** What of a request makes no checkout page. */
export class CheckoutRefused extends Error {
  override readonly name = 'CheckoutRefused';
  readonly part: 'uiMode' | 'url';
  readonly value: string;

  constructor(part: 'uiMode' | 'url', value: string) {
    super(`${value} is no ${part} of a checkout page`);
    this.part = part;
    this.value = value;
  }
}
