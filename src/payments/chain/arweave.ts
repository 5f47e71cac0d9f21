/** Arweave through the node API: `/tx/{id}`, `/unconfirmed_tx/{id}`, `/tx/{id}/status`. */
import { isTxId, tryDecodeBase64url } from '../../formats/base64url.ts';
import { isRecord, memberOf, textOf } from '../../formats/json.ts';
import { listTransactions } from '../../outside/arweave/list-transactions.ts';
import { ArweaveNodes } from '../../outside/arweave/nodes.ts';
import { parseAmount } from '../../pricing/pricing.ts';
import { arweaveAddress } from '../../wallets/arweave/rsa.ts';
import { type ChainReader, listedByFirst, type PastPayment, type Transfer } from './chain.ts';

const DESTINATION_TAG = 'Turbo-Credit-Destination-Address';
const timeoutMs = 8_000;

/** What gateways list as paid to these wallets: nodes list nothing. */
export const arweaveHistory = (
  gateways: readonly string[],
  wallets: readonly string[],
  since: number,
): AsyncIterable<PastPayment> =>
  listedByFirst(gateways, (url) => listTransactions(url, { recipients: wallets }, since));

/** `urls`: of nodes, in order of preference. */
export function arweaveReader(urls: readonly string[], minConfirmations: number): ChainReader {
  const nodes = new ArweaveNodes(urls, { timeoutMs });
  return {
    parseId: (text) => (isTxId(text) ? text : undefined),
    async read(id) {
      const transaction = await nodes.transaction(id);
      if (transaction.state === 'absent') return { state: 'not-found', at: transaction.at };
      if (transaction.state === 'not-known') return { state: 'not-known', cause: transaction.cause };
      const { pending, header } = transaction.value;
      if (pending && header === undefined) return { state: 'unreadable' };
      const transfer = readTransfer(id, header);
      const status = pending ? undefined : await nodes.txStatus(id);
      // Between the two calls a block may have been replaced: then it waits again.
      if (status?.state !== 'found' || status.value.state === 'pending')
        return { state: 'pending', transfer };
      const { blockHeight, confirmations } = status.value;
      const state = confirmations >= minConfirmations ? 'confirmed' : 'pending';
      return { state, transfer: { ...transfer, blockHeight }, at: blockHeight + confirmations - 1 };
    },
    close: () => nodes.close(),
  };
}

function readTransfer(id: string, header: unknown): Transfer {
  if (textOf(header, 'id') !== id) throw new Error('the node answered another transaction');
  const owner = tryDecodeBase64url(textOf(header, 'owner') ?? '');
  const quantity = parseAmount(textOf(header, 'quantity') ?? '');
  const recipient = textOf(header, 'target');
  if (owner === undefined || owner.length === 0 || quantity === undefined || recipient === undefined) {
    throw new Error('the node answered no transfer');
  }
  return {
    sender: arweaveAddress(owner),
    recipient,
    quantity,
    destination: destinationTag(memberOf(header, 'tags')),
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
