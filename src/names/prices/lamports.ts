/** What the service pays in lamports for what it does: the rent of new accounts, signatures, priority. */
import {
  aclConfig,
  aclPage,
  aclPageSize,
  antConfig,
  antControllers,
  antRecord,
  antRecordMetadata,
} from '../../formats/solana/accounts-ant.ts';
import { arnsRecord } from '../../formats/solana/accounts-arns.ts';
import { lamportsPerSignature, rentExemptMinimum } from '../../formats/solana/programs.ts';
import type { AuthorityAction, RecordAction } from '../requests/action.ts';

/** Compute units a name transaction may use: the largest stays well below. */
export const unitLimit = 400_000;

const rent = (size: number) => rentExemptMinimum(size);
/** One more entry in somebody's list of tokens. */
export const aclEntryRent = rent(aclPageSize(1)) - rent(aclPageSize(0));
/** The first list of somebody who has none. */
export const aclRent = rent(aclConfig.space) + rent(aclPage.space);
/** What the owner pays rent for when a token is made, and is given beforehand to the lamport. */
export const openingRent =
  rent(antConfig.space) + rent(antControllers.space) + rent(antRecord.space) + aclEntryRent;

/** An asset with its traits: 281 bytes and its name twice. */
const assetRent = (nameLength: number) => rent(281 + 2 * nameLength);

function fees(signatures: number, transactions: number, microLamports: number): bigint {
  const priority = (BigInt(unitLimit) * BigInt(microLamports) + 999_999n) / 1_000_000n;
  return BigInt(signatures) * lamportsPerSignature + BigInt(transactions) * priority;
}

/** Making a token and binding a name to it, for an owner who has no list yet. */
export function spawnLamports(name: string, microLamports: number): bigint {
  const accounts = openingRent + assetRent(Buffer.byteLength(name)) + 2n * aclEntryRent + aclRent;
  return accounts + rent(arnsRecord.space) + fees(5, 3, microLamports);
}

/** The most an action can cost: every account it may have to make. */
export function actionLamports(action: RecordAction | AuthorityAction, microLamports: number): bigint {
  return newRent[action] + fees(2, 1, microLamports);
}

const newRent: Readonly<Record<RecordAction | AuthorityAction, bigint>> = {
  'set-record': rent(antRecord.space),
  'remove-record': 0n,
  'set-record-metadata': rent(antRecordMetadata.space),
  'remove-record-metadata': 0n,
  'transfer-record': 0n,
  'add-controller': aclRent + aclEntryRent,
  'remove-controller': 0n,
  transfer: aclRent + aclEntryRent,
};
