import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readCheckoutPage } from './checkout-page.ts';
import { CheckoutRefused } from './errors.ts';

const where = { appUrl: undefined, home: 'https://home' };
const app = { ...where, appUrl: 'https://app' };

test('a payer goes where the request says, else to the application, else to the service', () => {
  assert.deepEqual(readCheckoutPage({}, where), {
    ...{ uiMode: 'hosted', successUrl: 'https://home', cancelUrl: 'https://home' },
  });
  assert.deepEqual(readCheckoutPage({}, { ...where, thanks: 'https://thanks' }), {
    ...{ uiMode: 'hosted', successUrl: 'https://thanks', cancelUrl: 'https://home' },
  });
  assert.deepEqual(readCheckoutPage({ successUrl: '', cancelUrl: 'http://no' }, app), {
    ...{ uiMode: 'hosted', successUrl: 'https://app', cancelUrl: 'http://no' },
  });
  assert.deepEqual(readCheckoutPage({ uiMode: 'embedded' }, where), {
    ...{ uiMode: 'embedded', returnUrl: undefined },
  });
  assert.deepEqual(readCheckoutPage({ uiMode: 'embedded', returnUrl: 'HTTPS://back' }, app), {
    ...{ uiMode: 'embedded', returnUrl: 'HTTPS://back' },
  });
});

test('an address that is none, or too long, and a mode that nobody knows are refused', () => {
  const address = (length: number) => 'https://a/'.padEnd(length, 'b');
  assert.equal(readCheckoutPage({ successUrl: address(2_048) }, where).uiMode, 'hosted');
  for (const successUrl of [address(2_049), 'javascript:alert(1)', 'ftp://a', 'https://', 'a https://b'])
    assert.throws(() => readCheckoutPage({ successUrl }, where), CheckoutRefused, successUrl);
  assert.throws(() => readCheckoutPage({ cancelUrl: 'nowhere' }, where), CheckoutRefused);
  assert.throws(() => readCheckoutPage({ returnUrl: 'nowhere' }, where), CheckoutRefused);
  assert.throws(() => readCheckoutPage({ uiMode: 'floating' }, where), CheckoutRefused);
});
