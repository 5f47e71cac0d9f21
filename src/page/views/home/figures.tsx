/** The numbers that matter now. */
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { LiveState } from '../../../console/api.ts';
import { Figure, Figures } from '../../kit/card.tsx';
import { Spark } from '../../kit/chart.tsx';
import { formatCount, formatDecimal } from '../../kit/format.ts';
import type { Point } from '../../kit/series.ts';
import { Amount, Time } from '../../kit/value.tsx';
import { texts } from '../../texts.ts';

const words = texts.home.figures;
/** Two minutes of states. */
const mostPoints = 60;

export function LiveFigures({ live }: { readonly live: LiveState }) {
  const reads = useHistory(live, live.readsPerSecond);
  const errors = useHistory(live, live.errorsPerSecond);
  const count = (value: number | undefined): string => (value === undefined ? '–' : formatCount(value));
  const note = (value: unknown, text: ComponentChildren): ComponentChildren =>
    value === undefined ? words.unknown : text;
  return (
    <Figures>
      <Figure
        label={words.height}
        value={count(live.height)}
        note={note(
          live.height,
          live.lastBlockAt === undefined ? words.noBlock : <Time at={live.lastBlockAt} />,
        )}
        href={live.height === undefined ? '/explorer' : `/block/${live.height}`}
      />
      <Figure
        label={words.mempool}
        value={count(live.mempool)}
        note={note(live.mempool, words.mempoolNote)}
        href="/explorer"
      />
      <Figure
        label={words.waitingItems}
        value={count(live.waitingItems)}
        note={note(live.waitingItems, words.waitingItemsNote)}
        href="/operator/bundler/items"
      />
      <Figure
        label={words.waitingBundles}
        value={count(live.waitingBundles)}
        note={note(live.waitingBundles, words.waitingBundlesNote)}
        href="/operator/bundler"
      />
      <Figure
        label={words.creditsSold}
        value={live.creditsSold === undefined ? '–' : <Amount winc={BigInt(live.creditsSold)} />}
        note={live.creditsSold === undefined ? words.unknown : undefined}
        href="/operator"
      />
      <Figure
        label={words.names}
        value={count(live.names)}
        note={note(live.names, words.namesNote)}
        href="/names"
      />
      <Figure
        label={words.reads}
        value={rate(live.readsPerSecond)}
        note={note(live.readsPerSecond, <Spark points={reads} />)}
        href="/operator"
      />
      <Figure
        label={words.errors}
        value={rate(live.errorsPerSecond)}
        tone={(live.errorsPerSecond ?? 0) > 0 ? 'bad' : 'neutral'}
        note={note(live.errorsPerSecond, <Spark points={errors} />)}
        href="/operator"
      />
    </Figures>
  );
}

/** What was told while this is shown. */
function useHistory({ at }: LiveState, value: number | undefined): readonly Point[] {
  const [points, setPoints] = useState<readonly Point[]>([]);
  useEffect(() => setPoints((before) => [...before, [at, value ?? null] as const].slice(-mostPoints)), [at]);
  return points;
}

/** With one decimal place below ten. */
function rate(perSecond: number | undefined): string {
  if (perSecond === undefined) return '–';
  return perSecond < 10
    ? formatDecimal(BigInt(Math.round(perSecond * 10)), 1)
    : formatCount(Math.round(perSecond));
}
