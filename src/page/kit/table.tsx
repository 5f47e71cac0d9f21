import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { texts } from '../texts.ts';
import { Empty } from './state.tsx';

export interface Column<R> {
  readonly id: string;
  readonly head: ComponentChildren;
  cell(row: R): ComponentChildren;
  readonly align?: 'start' | 'end' | undefined;
  /** Takes the room that the others leave. */
  readonly wide?: boolean | undefined;
  /** Of a column in a grid (`12rem`, `minmax(9rem, 1fr)`); virtual tables alone need to know it before their rows. */
  readonly width?: string | undefined;
}

interface Props<R> {
  /** Names the table; read out, and seen where it is not said by the heading above. */
  readonly caption: string;
  readonly columns: readonly Column<R>[];
  readonly rows: readonly R[];
  rowKey(row: R): string;
  /** In place of the table where there are no rows. */
  readonly empty?: ComponentChildren;
}

/** In a region of its own that scrolls sideways, so that the page does not (WCAG 1.4.10). */
export function Table<R>({ caption, columns, rows, rowKey, empty }: Props<R>) {
  if (rows.length === 0) return <>{empty ?? <Empty title={texts.kit.noRows} />}</>;
  return (
    <ScrollRegion label={caption}>
      <table class="table">
        <caption class="unseen">{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.id} scope="col" class={cellClass(column)}>
                {column.head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={rowKey(row)}>
              {columns.map((column) => (
                <td key={column.id} class={cellClass(column)}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollRegion>
  );
}

interface ScrollRegionProps {
  readonly label: string;
  readonly children: ComponentChildren;
}

/** Where its content is wider than itself it is reached with the keyboard, because that is how it is scrolled there. */
export function ScrollRegion({ label, children }: ScrollRegionProps) {
  const region = useRef<HTMLElement>(null);
  useEffect(() => {
    const element = region.current;
    if (element === null) return undefined;
    const sizes = new ResizeObserver(() => {
      if (element.scrollWidth > element.clientWidth) element.tabIndex = 0;
      else element.removeAttribute('tabindex');
    });
    sizes.observe(element);
    if (element.firstElementChild !== null) sizes.observe(element.firstElementChild);
    return () => sizes.disconnect();
  }, []);
  return (
    <section class="scroll-region" aria-label={label} ref={region}>
      {children}
    </section>
  );
}

export function cellClass<R>({ align, wide }: Column<R>): string | undefined {
  const classes = [align === 'end' ? 'align-end' : '', wide === true ? 'wide' : ''].filter(
    (each) => each !== '',
  );
  return classes.length === 0 ? undefined : classes.join(' ');
}
