/** Which of the things that a searched text may be are there. */

import { readCredits } from '../../services/account.ts';
import { findNode, readBalance, readBlock, readPage, resolveName } from '../../services/gateway.ts';
import { readUploadState } from '../../services/item-state.ts';
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
      return (await findNode(value, signal)) !== null || (await readUploadState(value, signal)) !== undefined;
    case 'name':
      return (await resolveName(value, signal)) !== undefined;
    case 'tag':
      return await hasAny(filterOf(new URLSearchParams({ tag: value })), signal);
    case 'signature':
      return (await readSolanaTransaction(value, signal)) !== undefined;
    case 'arweave':
      return (
        (await isUsed(value, signal)) ||
        (await readBalance(value, signal)) > 0n ||
        (await readCredits(value, signal)) !== undefined
      );
    case 'solana': {
      const normalized = normalizedOfSolana(value);
      if (normalized === undefined) return false;
      return (
        (await readSolanaBalance(value, signal).catch(() => 0n)) > 0n ||
        (await isUsed(normalized, signal)) ||
        (await readCredits(value, signal)) !== undefined
      );
    }
    case 'ethereum':
      return (await readCredits(value, signal)) !== undefined;
  }
}

const isUsed = async (address: string, signal: AbortSignal): Promise<boolean> =>
  (await hasAny({ tags: [], owner: address }, signal)) ||
  (await hasAny({ tags: [], recipient: address }, signal));

async function hasAny(filter: ListFilter, signal: AbortSignal): Promise<boolean> {
  const { text, variables } = listQuery(filter, 1);
  return (await readPage(text, variables, signal)).rows.length > 0;
}
