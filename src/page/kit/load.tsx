/** What a view shows comes later, or not at all: one way to load it, to load it again, and to tell why it failed. */
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { texts } from '../texts.ts';
import { whenMoving } from './moving.ts';
import { Problem, Skeleton } from './state.tsx';

export interface Load<T> {
  /** `failed` with a value: the last one known. */
  readonly state: 'loading' | 'failed' | 'loaded';
  readonly value?: T;
  readonly error?: Error;
  again(): void;
}

interface Options {
  /** Loads again this long after each answer, while the page is seen and not paused. */
  readonly everyMs?: number | undefined;
  /** Shows the old value until the next one is there also when `deps` change: for filters and pages of one list. */
  readonly keep?: boolean | undefined;
}

interface Kept<T> {
  readonly deps: readonly unknown[];
  readonly value?: T;
  readonly error?: Error;
}

/** Keeps the old value while it loads again; what `deps` name is another thing, whose value is not shown for it. */
export function useLoad<T>(
  load: (signal: AbortSignal) => Promise<T>,
  deps: readonly unknown[],
  { everyMs, keep = false }: Options = {},
): Load<T> {
  const [kept, setKept] = useState<Kept<T> | undefined>(undefined);
  const [round, setRound] = useState(0);
  useEffect(() => {
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const run = async (): Promise<void> => {
      try {
        const value = await load(abort.signal);
        if (!abort.signal.aborted) setKept({ deps, value });
      } catch (thrown) {
        if (abort.signal.aborted) return;
        const error = thrown instanceof Error ? thrown : new Error(String(thrown));
        setKept((before) =>
          before !== undefined && isSame(before.deps, deps) ? { ...before, error } : { deps, error },
        );
      }
      if (everyMs === undefined || abort.signal.aborted) return;
      timer = setTimeout(() => whenMoving(abort.signal).then(run), everyMs);
    };
    run();
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [...deps, round, everyMs]);
  const again = (): void => setRound((before) => before + 1);
  if (kept === undefined || (!keep && !isSame(kept.deps, deps))) return { state: 'loading', again };
  const { deps: _, ...known } = kept;
  return { ...known, state: known.error === undefined ? 'loaded' : 'failed', again };
}

const isSame = (one: readonly unknown[], other: readonly unknown[]): boolean =>
  one.length === other.length && one.every((value, at) => Object.is(value, other[at]));

interface LoadedProps<T> {
  readonly of: Load<T>;
  readonly skeleton?: ComponentChildren;
  readonly children: (value: T) => ComponentChildren;
}

/** The skeleton, the problem with "try again", or what the value is shown as. */
export function Loaded<T>({ of, skeleton, children }: LoadedProps<T>) {
  if (of.state === 'loading') {
    return (
      <div aria-busy="true">
        <span class="unseen">{texts.kit.loading}</span>
        {skeleton ?? <Skeleton lines={4} />}
      </div>
    );
  }
  const problem = of.error !== undefined && (
    <Problem error={of.error} again={of.again} isStale={'value' in of} />
  );
  return (
    <>
      {problem}
      {'value' in of && children(of.value as T)}
    </>
  );
}
