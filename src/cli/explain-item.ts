/** Why an upload is not permanent yet, as the upload service says, and what the gateway made of its bundle. */
import { memberOf } from '../formats/json.ts';
import { messageOf } from '../kernel/errors.ts';
import { type AdminClient, AdminRefusal } from './admin-clients.ts';

export interface Explanation {
  /** Undefined where the upload service does not have it. */
  readonly item: Record<string, unknown> | undefined;
  /** Of the gateway: what became of the bundle that it is in, or of itself as a bundle. */
  readonly bundle: Record<string, unknown> | undefined;
  readonly sentences: readonly string[];
}

export async function explainItem(
  clients: { readonly upload: AdminClient; readonly gateway: AdminClient },
  id: string,
): Promise<Explanation> {
  const item = await found(clients.upload.call('GET', `items/${encodeURIComponent(id)}`));
  const txId = memberOf(memberOf(item, 'inBundle'), 'txId');
  const bundleId = typeof txId === 'string' ? txId : id;
  const sentences = [
    item === undefined
      ? 'The upload service does not have it: it was not uploaded there, or not with success.'
      : String(item.why),
  ];
  try {
    const bundle = await found(clients.gateway.call('GET', `bundle-status/${encodeURIComponent(bundleId)}`));
    return { item, bundle, sentences: [...sentences, ...gatewayWords(bundleId, bundle, item !== undefined)] };
  } catch (error) {
    return {
      item,
      bundle: undefined,
      sentences: [...sentences, `The gateway could not be asked: ${messageOf(error)}`],
    };
  }
}

async function found(asking: Promise<Record<string, unknown>>): Promise<Record<string, unknown> | undefined> {
  try {
    return await asking;
  } catch (error) {
    if (error instanceof AdminRefusal && error.status === 404) return undefined;
    throw error;
  }
}

function gatewayWords(
  id: string,
  bundle: Record<string, unknown> | undefined,
  isUploaded: boolean,
): string[] {
  if (bundle === undefined) return isUploaded ? [] : ['The gateway knows no bundle of this id either.'];
  const { state, lastError, dataItemCount, matchedDataItemCount } = bundle;
  const error = typeof lastError === 'string' ? `, last error "${lastError}"` : '';
  const counts =
    typeof dataItemCount === 'number' && typeof matchedDataItemCount === 'number'
      ? `, ${matchedDataItemCount} of ${dataItemCount} items indexed`
      : '';
  return [`At the gateway bundle ${id} is ${String(state)}${counts}${error}.`];
}
