/** Proves an entry in this browser, out of the bytes alone. */
import { formatBytes } from '../../../kit/format.ts';
import { ask, readAtMost, readContent, readSpan, readTransaction } from '../../../services/gateway.ts';
import { heldItemUrl } from '../../../services/item-state.ts';
import { texts } from '../../../texts.ts';
import type { Entry } from '../entry.ts';
import { checkItem } from './item.ts';
import { checkTransaction, hasDataRoot } from './transaction.ts';

/** Read into memory for a proof. */
const maxProofBytes = 64 * 1024 * 1024;

export interface Outcome {
  readonly tone: 'good' | 'bad' | 'warn';
  readonly lines: readonly string[];
}

export async function proveHere(entry: Entry): Promise<Outcome> {
  const isItem = entry.node === undefined || entry.node.bundledIn !== null || entry.upload !== undefined;
  return isItem ? await proveItem(entry) : await proveTransaction(entry);
}

async function proveItem({ id, content, upload }: Entry): Promise<Outcome> {
  const words = texts.explorer.proof;
  const size = content?.root?.size ?? content?.size ?? 0;
  if (size > maxProofBytes) return { tone: 'warn', lines: [words.tooLarge(formatBytes(maxProofBytes))] };
  const bytes = await readItem(id, content?.root, upload !== undefined);
  if (bytes === undefined) return { tone: 'warn', lines: [words.noBytes] };
  const verdict = await checkItem(id, bytes);
  if (verdict === 'good')
    return { tone: 'good', lines: [words.itemGood(formatBytes(bytes.length)), words.idGood] };
  return { tone: verdict === 'unknown type' ? 'warn' : 'bad', lines: [words.verdicts[verdict]] };
}

/** With its header: cut out of the transaction that holds it, or from the upload service while that has it. */
async function readItem(
  id: string,
  root: NonNullable<Entry['content']>['root'],
  isHeld: boolean,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  if (root !== undefined) return await readSpan(root.id, root);
  const url = isHeld ? heldItemUrl(id) : undefined;
  if (url === undefined) return undefined;
  const answer = await ask(url);
  if (!answer.ok) return undefined;
  const { bytes, isCut } = await readAtMost(answer, maxProofBytes);
  return isCut ? undefined : bytes;
}

async function proveTransaction({ id, content }: Entry): Promise<Outcome> {
  const words = texts.explorer.proof;
  const json = await readTransaction(id);
  if (json === undefined) return { tone: 'warn', lines: [words.noHeader] };
  const verdict = await checkTransaction(id, json);
  if (verdict === 'unknown type') return { tone: 'warn', lines: [words.verdicts[verdict]] };
  if (verdict !== 'good') return { tone: 'bad', lines: [words.verdicts[verdict]] };
  const lines = [words.headerGood, words.idGood];
  const size = Number(json.data_size ?? 0);
  if (size === 0 || Number(json.format) === 1) return { tone: 'good', lines };
  if (size > maxProofBytes)
    return { tone: 'good', lines: [...lines, words.tooLarge(formatBytes(maxProofBytes))] };
  if (content === undefined) return { tone: 'good', lines: [...lines, words.noBytes] };
  const { bytes } = await readContent(id, size);
  if (!hasDataRoot(bytes, String(json.data_root))) return { tone: 'bad', lines: [words.rootBad, ...lines] };
  return { tone: 'good', lines: [...lines, words.rootGood(formatBytes(bytes.length))] };
}
