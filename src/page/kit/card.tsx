/** What a view is laid out with. */
import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';
import type { Tone } from './tone.ts';

interface CardProps {
  readonly title?: ComponentChildren;
  readonly actions?: ComponentChildren;
  readonly tone?: Tone | undefined;
  readonly children: ComponentChildren;
}

export function Card({ title, actions, tone = 'neutral', children }: CardProps) {
  const id = useId();
  return (
    <section class={`card card-${tone}`} aria-labelledby={title === undefined ? undefined : id}>
      {(title !== undefined || actions !== undefined) && (
        <div class="card-head">
          {title !== undefined && <h2 id={id}>{title}</h2>}
          {actions !== undefined && <div class="actions">{actions}</div>}
        </div>
      )}
      {children}
    </section>
  );
}

/** Side by side where there is room, below each other where not. */
export function Columns({ children }: { readonly children: ComponentChildren }) {
  return <div class="columns">{children}</div>;
}

/** A definition list of `Fact`s. */
export function Facts({ children }: { readonly children: ComponentChildren }) {
  return <dl class="facts">{children}</dl>;
}

interface FactProps {
  readonly label: string;
  readonly children: ComponentChildren;
}

export function Fact({ label, children }: FactProps) {
  return (
    <div class="fact">
      <dt>{label}</dt>
      <dd>{children}</dd>
    </div>
  );
}

interface FigureProps {
  readonly label: string;
  readonly value: ComponentChildren;
  readonly note?: ComponentChildren;
  readonly href?: string | undefined;
  readonly tone?: Tone | undefined;
}

/** A number that matters. */
export function Figure({ label, value, note, href, tone = 'neutral' }: FigureProps) {
  const content = (
    <>
      <span class="figure-label">{label}</span>
      <span class={`figure-value tone-${tone}`}>{value}</span>
      {note !== undefined && <span class="figure-note">{note}</span>}
    </>
  );
  if (href === undefined) return <div class="figure">{content}</div>;
  return (
    <a class="figure" href={href}>
      {content}
    </a>
  );
}

/** `Figure`s in a row that wraps. */
export function Figures({ children }: { readonly children: ComponentChildren }) {
  return <div class="figures">{children}</div>;
}
