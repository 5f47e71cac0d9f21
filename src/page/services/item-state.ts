/** What the upload service knows of an item: to everybody how far it is, to operators also why it is not further. */
import type { ItemReport } from '../../formats/admin-answers.ts';
import { memberOf, textOf } from '../../formats/json.ts';
import { askConsole } from './console.ts';
import { askJson } from './gateway.ts';
import { serviceUrl } from './settings.ts';

export interface UploadState {
  readonly state: 'new' | 'pending' | 'permanent' | 'failed';
  readonly bundle?: string;
  readonly reason?: string;
  /** What was paid for it, in winc. */
  readonly winc?: bigint;
}

const states = ['new', 'pending', 'permanent', 'failed'] as const;

/** undefined where there is no upload service, or it never had the item. */
export async function readUploadState(id: string, signal?: AbortSignal): Promise<UploadState | undefined> {
  const url = serviceUrl('upload');
  if (url === undefined) return undefined;
  const raw = await askJson(`${url}/v1/tx/${id}/status`, signal && { signal });
  const state = states.find((each) => each === textOf(raw, 'info'));
  if (state === undefined) return undefined;
  const [bundle, reason, winc] = [
    textOf(raw, 'bundleId', 43),
    textOf(raw, 'reason', 500),
    textOf(raw, 'winc', 40),
  ];
  return {
    state,
    ...(bundle !== undefined && { bundle }),
    ...(reason !== undefined && { reason }),
    ...(winc !== undefined && /^[0-9]+$/.test(winc) && { winc: BigInt(winc) }),
  };
}

/** The key that the service signs its receipts with (RSA modulus, base64url); undefined where it does not tell. */
export async function readReceiptKey(signal?: AbortSignal): Promise<string | undefined> {
  const url = serviceUrl('upload');
  if (url === undefined) return undefined;
  const raw = await askJson(`${url}/v1/info`, signal && { signal });
  return textOf(memberOf(raw, 'receiptSigner'), 'public');
}

/** The whole raw item, for as long as the service holds it. */
export const heldItemUrl = (id: string): string | undefined => {
  const url = serviceUrl('upload');
  return url && `${url}/v1/data-item/${id}`;
};

/** Everything that is known of an item; undefined for who is no operator of the upload service, or if it has none. */
export async function readItemReport(id: string): Promise<ItemReport | undefined> {
  try {
    const session = await askConsole<unknown>('GET', '/api/session');
    if (memberOf(memberOf(session, 'operator'), 'upload') !== true) return undefined;
    return await askConsole<ItemReport>('GET', `/api/operator/upload/items/${id}`);
  } catch {
    // Who cannot know it sees what everybody sees.
    return undefined;
  }
}
