/** A dialog over the page: the browser keeps the focus inside it, closes it on Escape and gives the focus back. */
import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import { texts } from '../texts.ts';
import { Button } from './button.tsx';
import { Icon } from './icon.tsx';

interface Props {
  readonly open: boolean;
  readonly title: string;
  readonly onClose: () => void;
  readonly wide?: boolean | undefined;
  readonly children: ComponentChildren;
}

export function Dialog({ open, title, onClose, wide = false, children }: Props) {
  const element = useRef<HTMLDialogElement>(null);
  const heading = useRef<HTMLHeadingElement>(null);
  const id = useId();
  useLayoutEffect(() => {
    const dialog = element.current;
    if (!open || dialog === null || dialog.open) return;
    dialog.showModal();
    // A field that asks for it, else what the dialog is about.
    (dialog.querySelector<HTMLElement>('[data-focus]') ?? heading.current)?.focus();
  }, [open]);
  if (!open) return null;
  return (
    <dialog
      ref={element}
      class={wide ? 'dialog dialog-wide' : 'dialog'}
      aria-labelledby={id}
      onClose={onClose}
      onPointerDown={(event) => {
        // The dialog's own box is the backdrop around its content.
        if (event.target === event.currentTarget) onClose();
      }}
    >
      <div class="dialog-box">
        <div class="dialog-head">
          <h2 id={id} tabIndex={-1} ref={heading}>
            {title}
          </h2>
          <button type="button" class="icon-button" aria-label={texts.kit.close} onClick={onClose}>
            <Icon name="close" />
          </button>
        </div>
        {children}
      </div>
    </dialog>
  );
}

export interface Question {
  readonly title: string;
  readonly text: string;
  /** What the button that goes on says. */
  readonly confirm: string;
  readonly danger?: boolean | undefined;
}

const asked = signal<(Question & { answer(isConfirmed: boolean): void }) | undefined>(undefined);

/** Asks before something that cannot be taken back; a second question takes the place of the first, which is a no. */
export function confirmAction(question: Question): Promise<boolean> {
  asked.value?.answer(false);
  return new Promise((resolve) => {
    asked.value = {
      ...question,
      answer(isConfirmed) {
        asked.value = undefined;
        resolve(isConfirmed);
      },
    };
  });
}

/** Mounted once, by the frame around the views. */
export function ConfirmDialog() {
  const question = asked.value;
  if (question === undefined) return null;
  return (
    <Dialog open title={question.title} onClose={() => question.answer(false)}>
      <p>{question.text}</p>
      <div class="actions actions-end">
        <Button onClick={() => question.answer(false)}>{texts.kit.cancel}</Button>
        <Button kind={question.danger === true ? 'danger' : 'primary'} onClick={() => question.answer(true)}>
          {question.confirm}
        </Button>
      </div>
    </Dialog>
  );
}
