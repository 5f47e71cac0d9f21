/** What the upload service knows of an item: to everybody how far it is, to operators also why it is not further. */
import type { ItemReport } from '../../formats/admin-answers.ts';
import { memberOf, textOf } from '../../formats/json.ts';
import { ServiceError } from './console.ts';
import { askJson } from './gateway.ts';
import { kept } from './kept.ts';
import { askUpload } from './operator/ask.ts';
import { opens, readSession } from './operator/session.ts';
import { serviceUrl } from './settings.ts';
import { type ItemStatus, itemStatus } from './upload.ts';

/** undefined where there is no upload service, or it never had the item. */
export async function findItemStatus(id: string, signal?: AbortSignal): Promise<ItemStatus | undefined> {
  if (serviceUrl('upload') === undefined) return undefined;
  try {
    return await itemStatus(id, signal);
  } catch (error) {
    if (error instanceof ServiceError && error.status === 404) return undefined;
    throw error;
  }
}

/** The key that the service signs its receipts with (RSA modulus, base64url); undefined where it does not tell. */
export async function readReceiptKey(signal?: AbortSignal): Promise<string | undefined> {
  const url = serviceUrl('upload');
  if (url === undefined) return undefined;
  const raw = await askJson(`${url}/v1/info`, signal && { signal });
  return textOf(memberOf(raw, 'receiptSigner'), 'public');
}

/** The receipt of what was uploaded in this browser; undefined where it keeps none of this item. */
export async function keptReceipt(id: string): Promise<unknown> {
  return (await kept<{ readonly receipt: unknown }>('receipts').get(id))?.receipt;
}

/** Receipt, signed header and place on the chain, with all that it takes to verify them without asking anybody. */
export const proofUrl = (id: string): string => `${serviceUrl('upload')}/v1/tx/${id}/proof`;

/** The whole raw item, for as long as the service holds it. */
export const heldItemUrl = (id: string): string | undefined => {
  const url = serviceUrl('upload');
  return url && `${url}/v1/data-item/${id}`;
};

/** Everything that is known of an item; undefined for who is no operator of the upload service, or if it has none. */
export async function readItemReport(id: string): Promise<ItemReport | undefined> {
  try {
    await readSession();
    return opens('upload') ? await askUpload<ItemReport>('GET', `items/${id}`) : undefined;
  } catch {
    // Who cannot know it sees what everybody sees.
    return undefined;
  }
}
