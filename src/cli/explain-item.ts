/** Why an id is not permanent, not indexed or not served: what the upload service and the gateway say. */
import { memberOf } from '../formats/json.ts';
import { messageOf } from '../kernel/errors.ts';
import { type AdminClient, AdminRefusal } from './admin-clients.ts';

export interface Explanation {
  /** Undefined where the upload service does not have it. */
  readonly item: Record<string, unknown> | undefined;
  /** Of the gateway: what became of the bundle that it is in, or of itself as a bundle. */
  readonly bundle: Record<string, unknown> | undefined;
  /** Whether the gateway has it in its index; undefined where it could not be asked. */
  readonly indexed: boolean | undefined;
  readonly sentences: readonly string[];
}

/** `bundle` is where it should be, for what was uploaded elsewhere. Throws where neither service answers. */
export async function explainItem(
  clients: { readonly upload: AdminClient; readonly gateway: AdminClient },
  id: string,
  bundle?: string,
): Promise<Explanation> {
  const asked = await Promise.allSettled([
    found(clients.upload.call('GET', `items/${encodeURIComponent(id)}`)),
  ]);
  const [upload] = asked;
  const item = upload.status === 'fulfilled' ? upload.value : undefined;
  const txId = memberOf(memberOf(item, 'inBundle'), 'txId');
  const within = bundle ?? (typeof txId === 'string' ? txId : undefined);
  const query = within === undefined ? '' : `?${new URLSearchParams({ bundle: within })}`;
  const sentences = [uploadWords(upload)];
  try {
    const told = await clients.gateway.call('GET', `why/${encodeURIComponent(id)}${query}`);
    const why: unknown[] = Array.isArray(told.why) ? told.why : [];
    const status = told.bundle;
    return {
      item,
      bundle: typeof status === 'object' && status !== null ? { ...status } : undefined,
      indexed: told.indexed === true,
      sentences: [...sentences, ...why.map((line) => `Gateway: ${String(line)}`)],
    };
  } catch (error) {
    if (upload.status === 'rejected') throw upload.reason;
    const words = `The gateway could not be asked: ${messageOf(error)}`;
    return { item, bundle: undefined, indexed: undefined, sentences: [...sentences, words] };
  }
}

function uploadWords(upload: PromiseSettledResult<Record<string, unknown> | undefined>): string {
  if (upload.status === 'rejected')
    return `The upload service could not be asked: ${messageOf(upload.reason)}`;
  return upload.value === undefined
    ? 'The upload service does not have it: it was not uploaded there, or not with success.'
    : String(upload.value.why);
}

async function found(asking: Promise<Record<string, unknown>>): Promise<Record<string, unknown> | undefined> {
  try {
    return await asking;
  } catch (error) {
    if (error instanceof AdminRefusal && error.status === 404) return undefined;
    throw error;
  }
}
