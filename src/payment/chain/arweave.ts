/** Arweave through the node API: `/tx/{id}`, `/unconfirmed_tx/{id}`, `/tx/{id}/status`. */
import { isTxId, tryDecodeBase64url } from '../../formats/base64url.ts';
import { parseAmount } from '../../pricing/pricing.ts';
import { arweaveAddress } from '../../wallets/arweave/rsa.ts';
import type { ChainReader, ChainTransaction, Transfer } from './chain.ts';
import { callText, isRecord, textMember } from './http.ts';

export interface ArweaveReaderOptions {
  /** In order of preference; one that fails or does not know the transaction lets the next be asked. */
  readonly nodes: readonly string[];
  readonly minConfirmations: number;
}

const DESTINATION_TAG = 'Turbo-Credit-Destination-Address';

export function arweaveReader({ nodes, minConfirmations }: ArweaveReaderOptions): ChainReader {
  return {
    parseId: (text) => (isTxId(text) ? text : undefined),
    async read(id) {
      const failures: unknown[] = [];
      let absent: ChainTransaction | undefined;
      for (const node of nodes) {
        try {
          const found = await readFrom(node, id, minConfirmations);
          if (found.state !== 'not-found') return found;
          absent = found;
        } catch (error) {
          failures.push(error);
        }
      }
      if (absent !== undefined) return absent;
      throw new AggregateError(failures, 'no Arweave node could be asked');
    },
  };
}

async function readFrom(node: string, id: string, minConfirmations: number): Promise<ChainTransaction> {
  const mined = await callText(`${node}/tx/${id}`);
  if (mined.status === 404 || mined.status === 410) return { state: 'not-found' };
  if (mined.status === 202) {
    const waiting = await callText(`${node}/unconfirmed_tx/${id}`);
    if (waiting.status !== 200) return { state: 'unreadable' };
    return { state: 'pending', transfer: readTransfer(id, waiting.text) };
  }
  if (mined.status !== 200) throw new Error(`the node answered ${mined.status}`);
  const transfer = readTransfer(id, mined.text);
  const status = await callText(`${node}/tx/${id}/status`);
  // Between the two calls a block may have been replaced: then it waits again.
  if (status.status !== 200) return { state: 'pending', transfer };
  const place: unknown = JSON.parse(status.text);
  if (!isRecord(place)) throw new Error('the node answered no status');
  const { block_height: blockHeight, number_of_confirmations: confirmations } = place;
  if (typeof blockHeight !== 'number' || typeof confirmations !== 'number') {
    throw new Error('the node answered no status');
  }
  const state = confirmations >= minConfirmations ? 'confirmed' : 'pending';
  return { state, transfer: { ...transfer, blockHeight } };
}

function readTransfer(id: string, text: string): Transfer {
  const header: unknown = JSON.parse(text);
  if (!isRecord(header) || header.id !== id) throw new Error('the node answered another transaction');
  const owner = tryDecodeBase64url(textMember(header, 'owner'));
  const quantity = parseAmount(textMember(header, 'quantity'));
  if (owner === undefined || owner.length === 0 || quantity === undefined) {
    throw new Error('the node answered no transfer');
  }
  return {
    sender: arweaveAddress(owner),
    recipient: textMember(header, 'target'),
    quantity,
    destination: destinationTag(header.tags),
  };
}

function destinationTag(tags: unknown): string | undefined {
  if (!Array.isArray(tags)) return undefined;
  for (const tag of tags) {
    if (!isRecord(tag) || typeof tag.name !== 'string' || typeof tag.value !== 'string') continue;
    if (decoded(tag.name) === DESTINATION_TAG) return decoded(tag.value);
  }
  return undefined;
}

const decoded = (text: string): string | undefined => tryDecodeBase64url(text)?.toString('utf8');
