import type { ComponentChildren } from 'preact';

export type ButtonKind = 'plain' | 'primary' | 'danger' | 'quiet';

interface ButtonProps {
  readonly kind?: ButtonKind | undefined;
  /** What it began is under way: it cannot be pressed again until then. */
  readonly busy?: boolean | undefined;
  readonly disabled?: boolean | undefined;
  readonly onClick?: ((event: MouseEvent) => void) | undefined;
  /** It sends the form around it. */
  readonly submit?: boolean | undefined;
  /** For one that shows nothing but a drawing, and to tell equal ones apart. */
  readonly label?: string | undefined;
  readonly small?: boolean | undefined;
  /** Whether it is the chosen one of a few. */
  readonly pressed?: boolean | undefined;
  readonly children: ComponentChildren;
}

export function Button({
  kind = 'plain',
  busy = false,
  disabled = false,
  onClick,
  submit = false,
  label,
  small = false,
  pressed,
  children,
}: ButtonProps) {
  return (
    <button
      type={submit ? 'submit' : 'button'}
      class={buttonClass(kind, small)}
      disabled={disabled}
      aria-busy={busy || undefined}
      aria-disabled={busy || undefined}
      aria-label={label}
      aria-pressed={pressed}
      title={label}
      onClick={(event) => {
        // A busy button stays in the tab order, so that the focus is not lost.
        if (busy) event.preventDefault();
        else onClick?.(event);
      }}
    >
      {children}
    </button>
  );
}

interface LinkButtonProps {
  readonly href: string;
  readonly kind?: ButtonKind | undefined;
  readonly small?: boolean | undefined;
  /** Leads out of the console, into a tab of its own. */
  readonly outside?: boolean | undefined;
  readonly download?: string | undefined;
  readonly children: ComponentChildren;
}

export function LinkButton({
  href,
  kind = 'plain',
  small = false,
  outside = false,
  download,
  children,
}: LinkButtonProps) {
  return (
    <a
      class={buttonClass(kind, small)}
      href={href}
      download={download}
      {...(outside && { target: '_blank', rel: 'noopener noreferrer' })}
    >
      {children}
    </a>
  );
}

const buttonClass = (kind: ButtonKind, small: boolean): string =>
  `button button-${kind}${small ? ' button-small' : ''}`;
