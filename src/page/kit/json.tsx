/** Data of strangers as text: bounded in depth and number, each level opened by hand. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { texts } from '../texts.ts';
import { clampText, formatCount } from './format.ts';
import { ScrollRegion } from './table.tsx';
import { Copy } from './value.tsx';

const openToDepth = 2;
const mostEntries = 100;
const longestText = 2000;

export function Json({ value }: { readonly value: unknown }) {
  return (
    <div class="json">
      <Node value={value} depth={0} />
    </div>
  );
}

function Node({
  name,
  value,
  depth,
}: {
  readonly name?: string;
  readonly value: unknown;
  readonly depth: number;
}) {
  const [isOpen, setOpen] = useState(depth < openToDepth);
  const [shown, setShown] = useState(mostEntries);
  const key = name === undefined ? null : <span class="json-key">{clampText(name)}: </span>;
  if (typeof value !== 'object' || value === null) {
    return (
      <div class="json-line">
        {key}
        <Scalar value={value} />
      </div>
    );
  }
  const entries = Object.entries(value);
  const count = formatCount(entries.length);
  const summary = Array.isArray(value) ? texts.kit.entries(count) : texts.kit.properties(count);
  return (
    <details class="json-node" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        {key}
        <span class="soft">{summary}</span>
      </summary>
      {isOpen &&
        entries
          .slice(0, shown)
          .map(([each, inner]) => <Node key={each} name={each} value={inner} depth={depth + 1} />)}
      {isOpen && entries.length > shown && (
        <button type="button" class="link-button" onClick={() => setShown(shown + mostEntries)}>
          {texts.kit.moreEntries(formatCount(entries.length - shown))}
        </button>
      )}
    </details>
  );
}

function Scalar({ value }: { readonly value: unknown }): ComponentChildren {
  if (typeof value === 'string')
    return <bdi class="json-text">{JSON.stringify(clampText(value, longestText))}</bdi>;
  return <span class="json-scalar">{String(value)}</span>;
}

interface CodeProps {
  readonly text: string;
  /** What it is, for who copies it and who cannot see it. */
  readonly what?: string | undefined;
}

export function Code({ text, what = texts.kit.code }: CodeProps) {
  return (
    <div class="code">
      <ScrollRegion label={what}>
        <pre>
          <code dir="ltr">{text}</code>
        </pre>
      </ScrollRegion>
      <Copy text={text} what={what} />
    </div>
  );
}
