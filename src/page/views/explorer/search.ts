/** Which of the things that a searched text may be are there. */

import { findNode, readBalance, readBlock, readPage } from '../../services/gateway.ts';
import { findItemStatus } from '../../services/item-state.ts';
import { resolveAtGateway } from '../../services/names.ts';
import { balanceOf } from '../../services/payment.ts';
import { readSolanaBalance, readSolanaTransaction } from '../../services/solana.ts';
import { normalizedOfSolana } from './addresses.ts';
import { filterOf, type ListFilter, listQuery } from './filter.ts';
import type { SearchTarget } from './search-target.ts';

export async function isThere({ kind, value }: SearchTarget, signal: AbortSignal): Promise<boolean> {
  switch (kind) {
    case 'height':
    case 'block':
      return (await readBlock(value, signal)) !== undefined;
    case 'id':
      return (await findNode(value, signal)) !== null || (await findItemStatus(value, signal)) !== undefined;
    case 'name':
      return (await resolveAtGateway(value, signal)) !== undefined;
    case 'tag':
      return await hasAny(filterOf(new URLSearchParams({ tag: value })), signal);
    case 'signature':
      return (await readSolanaTransaction(value, signal)) !== undefined;
    case 'arweave':
      return (
        (await isUsed(value, signal)) ||
        (await readBalance(value, signal)) > 0n ||
        (await hasCredits(value, signal))
      );
    case 'solana': {
      const normalized = normalizedOfSolana(value);
      if (normalized === undefined) return false;
      return (
        (await readSolanaBalance(value, signal).catch(() => 0n)) > 0n ||
        (await isUsed(normalized, signal)) ||
        (await hasCredits(value, signal))
      );
    }
    case 'ethereum':
      return await hasCredits(value, signal);
  }
}

const hasCredits = async (address: string, signal: AbortSignal): Promise<boolean> =>
  (await balanceOf(address, signal)).effectiveWinc > 0n;

const isUsed = async (address: string, signal: AbortSignal): Promise<boolean> =>
  (await hasAny({ tags: [], owner: address }, signal)) ||
  (await hasAny({ tags: [], recipient: address }, signal));

async function hasAny(filter: ListFilter, signal: AbortSignal): Promise<boolean> {
  const { text, variables } = listQuery(filter, 1);
  return (await readPage(text, variables, signal)).rows.length > 0;
}
