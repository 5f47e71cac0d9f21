/** The page of the local card provider, as somebody pays on it. */
import type { Page } from 'playwright-core';

export async function payByCard(page: Page): Promise<void> {
  await page.getByLabel('Card number').fill('4242424242424242');
  await page.getByLabel('Expiry date').fill('12/40');
  await page.getByLabel('Security code', { exact: true }).fill('123');
  await page.getByLabel('Name on card').fill('Ada');
  await page.getByRole('button', { name: /^Pay/ }).click();
}
