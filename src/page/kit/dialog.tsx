/** A dialog over the page: the browser keeps the focus inside it, closes it on Escape and gives the focus back. */
import { signal } from '@preact/signals';
import type { ComponentChildren, TargetedEvent } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import { texts } from '../texts.ts';
import { Button } from './button.tsx';
import { Icon } from './icon.tsx';

interface Props {
  readonly title: string;
  readonly onClose: () => void;
  readonly wide?: boolean | undefined;
  readonly children: ComponentChildren;
}

/**
 * Makes an element a dialog over the page, from the turn in which it is shown to the one in which it goes. Nothing waits
 * for the browser's event: the next key may come before it.
 */
export function useModal(onClose: () => void) {
  const element = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const dialog = element.current;
    dialog?.showModal();
    // Before it leaves the page, because only then is the focus given back.
    return () => dialog?.close();
  }, []);
  return {
    ref: element,
    onCancel(event: TargetedEvent<HTMLDialogElement>) {
      // A field for files tells the same of its own.
      if (event.target !== event.currentTarget) return;
      event.preventDefault();
      onClose();
    },
    onClose(event: TargetedEvent<HTMLDialogElement>) {
      // Of one that has gone it is told late: another may be there by now.
      if (event.currentTarget.isConnected) onClose();
    },
    onPointerDown(event: TargetedEvent<HTMLDialogElement>) {
      // The dialog's own box is the backdrop around its content.
      if (event.target === event.currentTarget) onClose();
    },
  };
}

export function Dialog({ open, ...props }: Props & { readonly open: boolean }) {
  return open ? <OpenDialog {...props} /> : null;
}

function OpenDialog({ title, onClose, wide = false, children }: Props) {
  const modal = useModal(onClose);
  const heading = useRef<HTMLHeadingElement>(null);
  const id = useId();
  useLayoutEffect(() => {
    // A field that asks for it, else what the dialog is about.
    (modal.ref.current?.querySelector<HTMLElement>('[data-focus]') ?? heading.current)?.focus();
  }, []);
  return (
    <dialog {...modal} class={wide ? 'dialog dialog-wide' : 'dialog'} aria-labelledby={id}>
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
