/** A table of as many rows as there are: only those that are seen are in the document. All rows are equally high. */
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { texts } from '../texts.ts';
import { formatCount } from './format.ts';
import { rowAfterKey, rowsInDocument } from './row-window.ts';
import { type Column, cellClass } from './table.tsx';

interface Props<R> {
  readonly caption: string;
  readonly columns: readonly Column<R>[];
  readonly rowCount: number;
  /** Undefined for a row that is not loaded yet. */
  rowAt(index: number): R | undefined;
  readonly rowHeight?: number | undefined;
  rowKey(row: R, index: number): string;
  /** Tells which rows are seen now, so that they can be loaded. */
  readonly onRange?: ((first: number, last: number) => void) | undefined;
  /** Of the region that scrolls, in pixels; it is smaller with few rows. */
  readonly height?: number | undefined;
}

const headHeight = 40;

export function VirtualTable<R>({
  caption,
  columns,
  rowCount,
  rowAt,
  rowHeight = 40,
  rowKey,
  onRange,
  height = 560,
}: Props<R>) {
  const region = useRef<HTMLElement>(null);
  const [scrollTop, setScrollTop] = useState(0);
  const [active, setActive] = useState(0);
  const mustFocus = useRef(false);
  const boxHeight = Math.min(height, headHeight + rowCount * rowHeight + 2);
  const rows = rowsInDocument({ rowCount, rowHeight, scrollTop, height: boxHeight, active });
  const [first, last] = [rows[0] ?? 0, rows.at(-1) ?? 0];
  useEffect(() => onRange?.(first, last), [first, last]);
  useLayoutEffect(() => {
    if (region.current !== null) region.current.style.height = `${boxHeight}px`;
  }, [boxHeight]);
  const hadFocus = region.current?.contains(document.activeElement) === true;
  useLayoutEffect(() => {
    // A row that was moved in the document among others has lost the focus.
    const isLost = hadFocus && document.activeElement === document.body;
    if (!mustFocus.current && !isLost) return;
    mustFocus.current = false;
    const row = region.current?.querySelector<HTMLElement>(`tr[aria-rowindex="${active + 2}"]`);
    row?.focus({ preventScroll: true });
  });

  const moveTo = (row: number): void => {
    mustFocus.current = true;
    setActive(row);
    const element = region.current;
    if (element === null) return;
    const [top, bottom] = [row * rowHeight, (row + 1) * rowHeight];
    const room = boxHeight - headHeight;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (bottom > element.scrollTop + room) element.scrollTop = bottom - room;
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const target = event.target as HTMLElement;
    if (event.ctrlKey || event.metaKey || event.altKey || target.tagName !== 'TR') return;
    if (event.key === 'Enter') {
      target.querySelector('a')?.click();
      return;
    }
    const next = rowAfterKey(event.key, active, rowCount, Math.floor((boxHeight - headHeight) / rowHeight));
    if (next === undefined) return;
    event.preventDefault();
    moveTo(next);
  };
  return (
    <section
      class="scroll-region virtual"
      aria-label={`${caption}, ${texts.kit.rows(formatCount(rowCount))}`}
      ref={region}
      onScroll={(event) => setScrollTop(event.currentTarget.scrollTop)}
      onKeyDown={onKeyDown}
    >
      <table class="table" aria-rowcount={rowCount + 1} style={{ '--columns': widthsOf(columns) }}>
        <caption class="unseen">{caption}</caption>
        <thead>
          <tr aria-rowindex={1}>
            {columns.map((column) => (
              <th key={column.id} scope="col" class={cellClass(column)}>
                {column.head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody style={{ height: `${rowCount * rowHeight}px` }}>
          {rows.map((index) => {
            const row = rowAt(index);
            return (
              <tr
                key={row === undefined ? `row-${index}` : rowKey(row, index)}
                aria-rowindex={index + 2}
                tabIndex={index === active ? 0 : -1}
                style={{ height: `${rowHeight}px`, transform: `translateY(${index * rowHeight}px)` }}
                onFocus={() => setActive(index)}
              >
                {columns.map((column) => (
                  <td key={column.id} class={cellClass(column)}>
                    {row === undefined ? <UnloadedCell /> : column.cell(row)}
                  </td>
                ))}
              </tr>
            );
          })}
        </tbody>
      </table>
    </section>
  );
}

/** The same widths for every row, whatever is in it: rows that come into sight must not move the others. */
const widthsOf = <R,>(columns: readonly Column<R>[]): string =>
  columns
    .map(({ wide, width }) => width ?? (wide === true ? 'minmax(12rem, 3fr)' : 'minmax(7rem, 1fr)'))
    .join(' ');

const UnloadedCell = () => (
  <span class="skeleton" aria-hidden="true">
    <span />
  </span>
);
