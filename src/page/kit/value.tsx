/** Single values: ids, amounts, sizes, times, states. */
import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { texts } from '../texts.ts';
import { formatAgo, formatBytes, formatCount, formatCredits, formatTime, shortId } from './format.ts';
import { Icon } from './icon.tsx';
import { isPaused } from './moving.ts';
import { notify } from './notify.tsx';
import type { Tone } from './tone.ts';

interface CopyProps {
  readonly text: string;
  /** What it copies, as its name and its confirmation say it. */
  readonly what: string;
}

const copiedForMs = 1500;

export function Copy({ text, what }: CopyProps) {
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return undefined;
    const timer = setTimeout(() => setCopied(false), copiedForMs);
    return () => clearTimeout(timer);
  }, [isCopied]);
  const copy = (): void => {
    // Absent outside secure contexts.
    const written = navigator.clipboard?.writeText(text) ?? Promise.reject(new Error('no clipboard'));
    written.then(
      () => setCopied(true),
      () => notify({ tone: 'warn', text: texts.kit.copyFailed }),
    );
  };
  const label = texts.kit.copy(what);
  return (
    <button type="button" class="copy" aria-label={label} title={label} onClick={copy}>
      <Icon name={isCopied ? 'done' : 'copy'} size={16} />
      <output class="unseen">{isCopied ? texts.kit.copied(what) : ''}</output>
    </button>
  );
}

interface IdProps {
  readonly value: string;
  readonly what?: string | undefined;
  readonly href?: string | undefined;
  /** Whole, where there is room for it. */
  readonly full?: boolean | undefined;
}

export function Id({ value, what = texts.kit.id, href, full = false }: IdProps) {
  const shown = full ? value : shortId(value);
  return (
    <span class="id">
      {href === undefined ? (
        <bdi title={value}>{shown}</bdi>
      ) : (
        <a href={href} title={value}>
          <bdi>{shown}</bdi>
        </a>
      )}
      <Copy text={value} what={what} />
    </span>
  );
}

export function Amount({ winc }: { readonly winc: bigint }) {
  return (
    <span class="number" title={`${formatCount(winc)} winc`}>
      {formatCredits(winc)}
    </span>
  );
}

export function Bytes({ of }: { readonly of: number | bigint }) {
  return (
    <span class="number" title={texts.kit.bytes(Number(of))}>
      {formatBytes(of)}
    </span>
  );
}

const agoEveryMs = 10_000;
let timer: ReturnType<typeof setInterval> | undefined;

/** One clock for all times on the page; it stands still while none is shown. */
const now = signal(Date.now(), {
  watched() {
    timer = setInterval(() => {
      if (!isPaused.value) now.value = Date.now();
    }, agoEveryMs);
  },
  unwatched() {
    clearInterval(timer);
  },
});

/** How long ago, with the whole time as its title; it goes on counting. */
export function Time({ at }: { readonly at: number | Date }) {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return <span>–</span>;
  return (
    <time dateTime={date.toISOString()} title={formatTime(date)}>
      {formatAgo(date, Math.max(now.value, Date.now()))}
    </time>
  );
}

interface BadgeProps {
  readonly tone?: Tone | undefined;
  readonly children: ComponentChildren;
}

export function Badge({ tone = 'neutral', children }: BadgeProps) {
  return <span class={`badge badge-${tone}`}>{children}</span>;
}
