/**
 * Whether the effect of a purchase is on the chain: asked before a refund where the chain does not know its transaction,
 * because a lost answer is not a lost purchase. It is not asked for one that is known to have failed: others may have
 * paid for the same.
 */
import { yearSeconds } from '../../formats/solana/name-prices.ts';
import type { NameRegistry } from '../../registry/name-registry.ts';
import type { ActionRequest } from '../requests/action.ts';
import type { BeforeState } from './store.ts';

interface Expected {
  readonly request: ActionRequest;
  readonly antId: string | undefined;
  readonly before: BeforeState | undefined;
}

/** Fails with `ChainUnavailable` where the chain cannot say. Record and controller actions are known by their signature alone. */
export async function isEffectOnChain(registry: NameRegistry, expected: Expected): Promise<boolean> {
  const { request, antId, before } = expected;
  if (!('name' in request)) return false;
  const { record } = await registry.name(request.name);
  if (record === undefined) return false;
  switch (request.action) {
    case 'buy-name':
      return record.ant === antId;
    case 'upgrade-name':
      return before?.type === 'lease' && record.type === 'permabuy';
    case 'extend-lease':
      return (
        before?.end != null &&
        record.end !== undefined &&
        record.end >= before.end + request.years * yearSeconds
      );
    case 'increase-undername-limit':
      return before !== undefined && record.undernameLimit >= before.undernameLimit + request.quantity;
  }
}
