import type { ComponentChildren } from 'preact';
import { texts } from '../texts.ts';
import { Icon } from './icon.tsx';
import { Time } from './value.tsx';

export interface Step {
  readonly id: string;
  readonly label: ComponentChildren;
  readonly state: 'done' | 'now' | 'waiting' | 'failed';
  readonly at?: number | Date | undefined;
  readonly note?: ComponentChildren;
}

/** Steps in their order, with how far it got. */
export function Timeline({ steps }: { readonly steps: readonly Step[] }) {
  return (
    <ol class="timeline">
      {steps.map(({ id, label, state, at, note }) => (
        <li key={id} class={`step step-${state}`} aria-current={state === 'now' ? 'step' : undefined}>
          <span class="step-mark">
            {state === 'done' && <Icon name="done" size={14} />}
            {state === 'failed' && <Icon name="close" size={14} />}
          </span>
          <div>
            <p class="step-label">
              {label} <span class="unseen">({texts.kit.steps[state]})</span>
            </p>
            {(note !== undefined || at !== undefined) && (
              <p class="soft">
                {note}
                {note !== undefined && at !== undefined && ' · '}
                {at !== undefined && <Time at={at} />}
              </p>
            )}
          </div>
        </li>
      ))}
    </ol>
  );
}
