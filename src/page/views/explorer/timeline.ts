/** How far something is on its way from a receipt to permanent, out of what upload service, gateway and chain say. */

export interface Journey {
  /** As the upload service tells it (`new`, `pending`, `permanent`, `failed`); undefined where it does not know the item. */
  readonly upload?: { readonly info: string; readonly bundleId?: string | undefined };
  /** Unix milliseconds, where a receipt or an operator's view tells it. */
  readonly receivedAt?: number;
  /** The block it is in, or the transaction that holds it. */
  readonly block?: { readonly height: number; readonly timestamp: number };
  readonly confirmations?: number;
  /** The gateway says that its place cannot change any more. */
  readonly isStable: boolean;
  /** Whether it is in a bundle, or will be. */
  readonly isItem: boolean;
}

export interface JourneyStep {
  readonly id: 'received' | 'bundled' | 'mined' | 'permanent';
  readonly state: 'done' | 'now' | 'waiting' | 'failed';
  /** Unix milliseconds. */
  readonly at?: number;
}

export function journeySteps(journey: Journey): readonly JourneyStep[] {
  const { upload, block, isStable, isItem, receivedAt } = journey;
  const isPermanent = isStable || upload?.info === 'permanent';
  const isMined = block !== undefined || isPermanent;
  const isBundled = isMined || upload?.bundleId !== undefined;
  const done: [JourneyStep['id'], boolean, number | undefined][] = [
    ['received', true, receivedAt],
    ...(isItem ? ([['bundled', isBundled, undefined]] as [JourneyStep['id'], boolean, undefined][]) : []),
    ['mined', isMined, block && block.timestamp * 1_000],
    ['permanent', isPermanent, undefined],
  ];
  const next = done.findIndex(([, isDone]) => !isDone);
  return done.map(([id, isDone, at], index) => {
    const waiting = index === next ? (upload?.info === 'failed' ? 'failed' : 'now') : 'waiting';
    return { id, state: isDone ? 'done' : waiting, ...(at !== undefined && { at }) };
  });
}
