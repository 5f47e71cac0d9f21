/** The heading of a view: it names the document, and gets the focus after a step to another path (WCAG 2.4.2, 2.4.3). */
import { type ComponentChildren, createContext, toChildArray } from 'preact';
import { useContext, useEffect, useRef } from 'preact/hooks';
import { texts } from '../texts.ts';
import { arrivals, isFocusFree } from './arrival.ts';

interface Props {
  readonly title: string;
  readonly note?: ComponentChildren;
  /** Actions of the view. */
  readonly children?: ComponentChildren;
}

/** The step whose heading has had the focus. */
let answered = 0;

export function PageTitle({ title, note, children }: Props) {
  const heading = useRef<HTMLHeadingElement>(null);
  const arrival = arrivals.value;
  useEffect(() => {
    document.title = title === texts.product ? title : `${title} · ${texts.product}`;
  }, [title]);
  useEffect(() => {
    // Nothing has the focus where the heading of the view before had it and is gone.
    const isFocusLost = arrival > 0 && document.activeElement === document.body;
    if ((arrival !== answered && isFocusFree()) || isFocusLost)
      heading.current?.focus({ preventScroll: true });
    answered = arrival;
  }, [arrival]);
  const below = useContext(BelowTitle);
  return (
    <>
      <div class="page-title">
        <div>
          <h1 tabIndex={-1} ref={heading}>
            {title}
          </h1>
          {note !== undefined && <p class="soft">{note}</p>}
        </div>
        {children !== undefined && <div class="actions">{children}</div>}
      </div>
      {below}
    </>
  );
}

const BelowTitle = createContext<ComponentChildren>(undefined);

/** Parts of a view that each have a heading of their own: the first child, their tabs, comes below that heading. */
export function Tabbed({ children }: { readonly children: ComponentChildren }) {
  const [tabs, ...parts] = toChildArray(children);
  return <BelowTitle.Provider value={tabs}>{parts}</BelowTitle.Provider>;
}
