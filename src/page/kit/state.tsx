/** What is shown where there is nothing yet, nothing at all, or something went wrong. */
import type { ComponentChildren } from 'preact';
import { texts } from '../texts.ts';
import { Button } from './button.tsx';
import { clampText } from './format.ts';
import { Icon } from './icon.tsx';

export function Skeleton({ lines = 3 }: { readonly lines?: number | undefined }) {
  return (
    <div class="skeleton" aria-hidden="true">
      {Array.from({ length: lines }, (_, at) => (
        <span key={at} />
      ))}
    </div>
  );
}

interface EmptyProps {
  readonly title: string;
  readonly action?: ComponentChildren;
  readonly children?: ComponentChildren;
}

export function Empty({ title, action, children }: EmptyProps) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children !== undefined && <div class="soft">{children}</div>}
      {action !== undefined && <div class="actions">{action}</div>}
    </div>
  );
}

interface ProblemProps {
  readonly error: Error;
  readonly again?: (() => void) | undefined;
  /** What is shown beside it is the last state known. */
  readonly isStale?: boolean | undefined;
}

export function Problem({ error, again, isStale = false }: ProblemProps) {
  return (
    <div class="problem" role="alert">
      <Icon name="bad" />
      <div>
        <p>
          <bdi class="foreign">
            {clampText(error.message === '' ? texts.kit.somethingFailed : error.message, 500)}
          </bdi>
        </p>
        {isStale && <p class="soft">{texts.kit.stale}</p>}
      </div>
      {again !== undefined && (
        <Button small onClick={again}>
          {texts.kit.tryAgain}
        </Button>
      )}
    </div>
  );
}
