/**
 * What several gateways together say about a name. It is decided as soon as enough of them agree, so that one
 * that is slow, behind or lying decides nothing; whoever said otherwise is known by name afterwards.
 */

export type Vote =
  | {
      readonly kind: 'id';
      readonly id: string;
      readonly ttlSeconds: number | undefined;
      readonly antId?: string;
    }
  /** The gateway knows that the name points nowhere. */
  | { readonly kind: 'absent' }
  /** It did not say; `refused`: because it will not serve the name or what it points at (451). */
  | { readonly kind: 'silent'; readonly reason: string; readonly refused?: true };

export interface Ballot {
  readonly gateway: string;
  readonly vote: Vote;
}

export type Verdict =
  | {
      readonly kind: 'agreed';
      readonly id: string;
      readonly ttlSeconds: number | undefined;
      readonly antId: string | undefined;
      /** Who agreed. */
      readonly by: readonly string[];
    }
  | { readonly kind: 'absent'; readonly by: readonly string[] }
  /** Everybody answered and too few agree. */
  | { readonly kind: 'conflict'; readonly ids: readonly string[] }
  /** Too few answered; `refused`: as many would not as could have decided it. */
  | { readonly kind: 'unavailable'; readonly refused?: true };

export interface ConsensusRules {
  readonly threshold: number;
  readonly unanimous: boolean;
}

/** The verdict so far, with `outstanding` gateways still to answer; undefined while it can still change. */
export function decide(
  ballots: readonly Ballot[],
  outstanding: number,
  { threshold, unanimous }: ConsensusRules,
): Verdict | undefined {
  const byId = new Map<string, Ballot[]>();
  const absent: string[] = [];
  for (const ballot of ballots) {
    if (ballot.vote.kind === 'id') byId.set(ballot.vote.id, [...(byId.get(ballot.vote.id) ?? []), ballot]);
    else if (ballot.vote.kind === 'absent') absent.push(ballot.gateway);
  }
  const groups = [...byId.values()].sort((a, b) => b.length - a.length);
  const largest = groups[0] ?? [];
  const split = byId.size > 1 || (byId.size === 1 && absent.length > 0);
  if (unanimous && split) return { kind: 'conflict', ids: [...byId.keys()] };
  if (!unanimous || outstanding === 0) {
    if (largest.length >= threshold) return agreed(largest);
    if (absent.length >= threshold) return { kind: 'absent', by: absent };
  }
  if (outstanding > 0) return undefined;
  if (split) return { kind: 'conflict', ids: [...byId.keys()] };
  const refusals = ballots.filter(({ vote }) => vote.kind === 'silent' && vote.refused === true);
  return { kind: 'unavailable', ...(refusals.length >= threshold && { refused: true }) };
}

function agreed(ballots: readonly Ballot[]): Verdict {
  const votes = ballots.flatMap(({ vote }) => (vote.kind === 'id' ? vote : []));
  const ttls = votes.flatMap(({ ttlSeconds }) => ttlSeconds ?? []);
  return {
    kind: 'agreed',
    id: votes[0]?.id ?? '',
    ttlSeconds: ttls.length === 0 ? undefined : Math.min(...ttls),
    antId: votes.find(({ antId }) => antId !== undefined)?.antId,
    by: ballots.map(({ gateway }) => gateway),
  };
}
