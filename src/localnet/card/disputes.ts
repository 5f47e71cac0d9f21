/**
 * Disputes as Stripe's test mode decides them: evidence with the text `winning_evidence` wins, with
 * `losing_evidence` loses, and closing a dispute accepts it as lost.
 */
import { invalidRequest } from './errors.ts';
import type { Dispute } from './objects.ts';
import type { Change } from './store.ts';
import { announce, putObject } from './store.ts';

export async function submitEvidence(change: Change, dispute: Dispute, text: string): Promise<Dispute> {
  requireOpen(dispute);
  const submitted: Dispute = {
    ...dispute,
    evidence: { uncategorized_text: text },
    evidence_details: {
      ...dispute.evidence_details,
      has_evidence: true,
      submission_count: dispute.evidence_details.submission_count + 1,
    },
  };
  if (text === 'winning_evidence') return decide(change, submitted, 'won');
  if (text === 'losing_evidence') return decide(change, submitted, 'lost');
  await putObject(change, submitted);
  await announce(change, 'charge.dispute.updated', submitted);
  return submitted;
}

export async function acceptDispute(change: Change, dispute: Dispute): Promise<Dispute> {
  requireOpen(dispute);
  return decide(change, dispute, 'lost');
}

async function decide(change: Change, dispute: Dispute, status: 'lost' | 'won'): Promise<Dispute> {
  const closed: Dispute = { ...dispute, status };
  await putObject(change, closed);
  if (status === 'won') await announce(change, 'charge.dispute.funds_reinstated', closed);
  await announce(change, 'charge.dispute.closed', closed);
  return closed;
}

function requireOpen(dispute: Dispute): void {
  if (dispute.status !== 'needs_response') throw invalidRequest('This dispute is already closed');
}
