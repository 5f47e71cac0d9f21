/**
 * Credit sharing rides on data items: tags of the uploaded item itself (never of one inside it) lend credits of
 * its signer or take a loan back. Names are case-sensitive. A name twice, a loan to oneself, or lending and
 * taking back in one item is a mistake and is refused.
 *
 * An item is public: anybody who has it may upload it elsewhere too, where its signer may have credits as well. So a tag
 * may name the one service that it is for, and every other service refuses it.
 */
import type { Tag } from '../../formats/avro-tags.ts';
import { normalizeAddress } from '../../wallets/address.ts';
import { uploadErrors } from '../errors.ts';

export interface ApprovalOrder {
  readonly kind: 'approve';
  readonly approved: string;
  readonly amount: bigint;
  readonly expiresInSeconds: number | undefined;
}

export interface RevokeOrder {
  readonly kind: 'revoke';
  readonly approved: string;
}

/** Which items may lend or revoke here. */
export interface ApprovalRules {
  /** What this service is named by: its Arweave addresses, as `/v1/info` says. */
  readonly services: readonly string[];
  /** Whether an item must name it. */
  readonly requireBound: boolean;
}

const names = [
  'x-approve-payment',
  'x-amount',
  'x-expires-seconds',
  'x-delete-payment-approval',
  'x-service-address',
] as const;
type TagName = (typeof names)[number];

/** The names, which no one but an item's signer may set. */
export const approvalTagNames: ReadonlySet<string> = new Set(names);

/** What the tags of an item signed by `signer` ask for, if anything; throws the answer for tags that are wrong. */
export function readApprovalTags(
  tags: readonly Tag[],
  signer: string,
  rules: ApprovalRules,
): ApprovalOrder | RevokeOrder | undefined {
  const found = new Map<TagName, string>();
  for (const { name, value } of tags) {
    const known = names.find((candidate) => candidate === name);
    if (known === undefined) continue;
    if (found.has(known)) throw uploadErrors.approvalFailed(`Tag ${known} is there more than once`);
    found.set(known, value);
  }
  const approve = found.get('x-approve-payment');
  const revoke = found.get('x-delete-payment-approval');
  if (approve !== undefined && revoke !== undefined) {
    throw uploadErrors.approvalFailed('An item can approve or revoke, not both');
  }
  if (approve === undefined && revoke === undefined) return undefined;
  const wrong = wrongService(found.get('x-service-address'), rules);
  if (wrong !== undefined) {
    throw approve === undefined ? uploadErrors.revokeFailed(wrong) : uploadErrors.approvalFailed(wrong);
  }
  if (approve !== undefined) return approvalOrder(approve, found, signer);
  if (revoke === undefined) return undefined;
  const approved = normalizeAddress(revoke);
  if (approved === undefined) throw uploadErrors.revokeFailed('Invalid approved address');
  return { kind: 'revoke', approved };
}

/** Why an item that names this service, or none, may not lend or revoke here; undefined where it may. */
function wrongService(
  service: string | undefined,
  { services, requireBound }: ApprovalRules,
): string | undefined {
  if (service === undefined) {
    return requireBound ? "Tag x-service-address with this service's address is missing" : undefined;
  }
  return services.includes(service) ? undefined : 'The item is for another service';
}

function approvalOrder(address: string, found: ReadonlyMap<TagName, string>, signer: string): ApprovalOrder {
  const amount = found.get('x-amount');
  const seconds = found.get('x-expires-seconds');
  if (amount === undefined || amount === '') throw uploadErrors.approvalWithoutAmount();
  const approved = normalizeAddress(address);
  if (approved === undefined) throw uploadErrors.approvalFailed('Invalid approved address');
  if (approved === signer) throw uploadErrors.approvalFailed('A wallet cannot approve itself');
  if (!/^[1-9][0-9]{0,29}$/.test(amount)) {
    throw uploadErrors.approvalFailed(`Invalid value provided for wincAmount: ${shown(amount)}`);
  }
  if (seconds !== undefined && !/^[1-9][0-9]{0,9}$/.test(seconds)) {
    throw uploadErrors.approvalFailed(`Invalid value provided for expiresInSeconds: ${shown(seconds)}`);
  }
  return {
    kind: 'approve',
    approved,
    amount: BigInt(amount),
    expiresInSeconds: seconds === undefined ? undefined : Number(seconds),
  };
}

/** A tag's value in an answer: short, and nothing that is not plain text. */
function shown(value: string): string {
  return value.slice(0, 40).replace(/[^\x20-\x7e]/g, '?');
}
