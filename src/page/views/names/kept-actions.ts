/** The actions that this browser has begun, kept so that none is lost with its tab, and followed until they end. */
import { type ReadonlySignal, signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { kept } from '../../services/kept.ts';
import * as names from '../../services/names.ts';
import type { Wallet } from '../../wallet/wallet.ts';
import { isOpen, isWithService, type NameAction } from './action.ts';
import { createActionSteps } from './run-action.ts';

const store = kept<NameAction>('name-actions');
const known = signal<readonly NameAction[] | undefined>(undefined);
/** Newest first; undefined until they are read. */
export const nameActions: ReadonlySignal<readonly NameAction[] | undefined> = known;

/** Finished ones beyond this number are forgotten, the oldest first. */
const mostKept = 300;
const followEveryMs = 1_500;
/** An agreed one that is older was left: its tab is gone. */
const leftAfterMs = 120_000;

/** Those that this tab is working on; everybody else leaves them alone. */
const busy = new Set<string>();

async function keep(action: NameAction): Promise<void> {
  await store.put(action.id, action);
  const others = (known.value ?? []).filter(({ id }) => id !== action.id);
  known.value = sorted([action, ...others]);
}

const sorted = (actions: readonly NameAction[]): NameAction[] =>
  [...actions].sort((a, b) => b.createdAt - a.createdAt);

const steps = createActionSteps({ service: names, keep });

let reading: Promise<void> | undefined;

function read(): Promise<void> {
  reading ??= (async () => {
    const all = sorted(await store.all());
    known.value = all;
    await Promise.all(
      all
        .filter((action) => !isOpen(action))
        .slice(mostKept)
        .map(forget),
    );
  })().catch(() => {
    // A browser that keeps nothing has nothing to show; what is begun now is told when it cannot be kept.
    known.value ??= [];
  });
  return reading;
}

export async function forget({ id }: NameAction): Promise<void> {
  await store.delete(id);
  known.value = (known.value ?? []).filter((action) => action.id !== id);
}

/** Keeps an action that was agreed to; only then anything is done. */
export const agree = (action: NameAction): Promise<void> => keep(action);

/** Takes an agreed action to the service. */
export const begin = (action: NameAction, payer: Wallet, owner: Wallet | undefined): Promise<void> =>
  working(action, async () => {
    await steps.send(action, payer, owner);
  });

export const transactionOf = (action: NameAction): Promise<string | undefined> => steps.transactionOf(action);

export const signTransaction = (action: NameAction, transaction: string, owner: Wallet): Promise<void> =>
  working(action, async () => {
    await steps.sign(action, transaction, owner);
  });

async function working({ id }: NameAction, work: () => Promise<void>): Promise<void> {
  busy.add(id);
  try {
    await work();
  } finally {
    busy.delete(id);
  }
}

async function followAll(): Promise<void> {
  const now = Date.now();
  const left = (known.value ?? []).filter(({ id }) => !busy.has(id));
  for (const action of left) {
    if (action.stage === 'agreed' && now - action.changedAt > leftAfterMs) {
      await keep({ ...action, stage: 'unsent', changedAt: now });
    }
  }
  // Silence changes nothing: the next turn asks again.
  await Promise.all(left.filter(isWithService).map((action) => steps.follow(action).catch(() => action)));
}

/** While a view of names is shown: asks the service about everything that it has and that is not finished. */
export function useFollowing(): void {
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isGone = false;
    const turn = async (): Promise<void> => {
      await read();
      if (!document.hidden) await followAll();
      if (!isGone) timer = setTimeout(turn, followEveryMs);
    };
    turn();
    return () => {
      isGone = true;
      clearTimeout(timer);
    };
  }, []);
}
