/** Which rows of a long table are in the document: those that are seen, some around them, and the one in use. */

export interface Seen {
  readonly rowCount: number;
  readonly rowHeight: number;
  readonly scrollTop: number;
  readonly height: number;
  /** Stays in the document while it is scrolled away, so that the focus is not lost. */
  readonly active?: number | undefined;
}

const around = 8;

/** Their indexes in order. */
export function rowsInDocument({ rowCount, rowHeight, scrollTop, height, active }: Seen): number[] {
  const first = clamp(Math.floor(scrollTop / rowHeight) - around, 0, rowCount);
  const end = clamp(Math.ceil((scrollTop + height) / rowHeight) + around, 0, rowCount);
  const rows = Array.from({ length: Math.max(0, end - first) }, (_, at) => first + at);
  if (active !== undefined && active >= 0 && active < rowCount) {
    if (active < first) rows.unshift(active);
    else if (active >= end) rows.push(active);
  }
  return rows;
}

/** Where a key leads from a row; undefined for keys that are not for moving. */
export function rowAfterKey(
  key: string,
  from: number,
  rowCount: number,
  rowsPerPage: number,
): number | undefined {
  const steps: Readonly<Record<string, number>> = {
    ArrowDown: 1,
    j: 1,
    ArrowUp: -1,
    k: -1,
    PageDown: rowsPerPage,
    PageUp: -rowsPerPage,
    Home: -rowCount,
    End: rowCount,
  };
  const step = Object.hasOwn(steps, key) ? steps[key] : undefined;
  return step === undefined || rowCount === 0 ? undefined : clamp(from + step, 0, rowCount - 1);
}

const clamp = (value: number, least: number, most: number): number => Math.min(Math.max(value, least), most);
