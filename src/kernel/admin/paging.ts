/** Lists in pages: each begins after the last row of the one before, so that rows that come meanwhile shift nothing. */
import { Type } from 'typebox';
import { HttpError } from '../errors.ts';

/** The last row of a page, by what the list is ordered by. */
export interface Cursor {
  readonly at: number;
  readonly id: string;
}

export interface PageRequest {
  readonly before: Cursor | undefined;
  readonly limit: number;
}

export interface Page<T> {
  readonly items: readonly T[];
  /** For `before` of the next page; null on the last. */
  readonly next: string | null;
}

const defaultLimit = 50;
const mostAtOnce = 200;

/** Of the query of such a route. */
export const pageQuery = {
  limit: Type.Optional(Type.String({ description: `1 to ${mostAtOnce}; ${defaultLimit} unless given` })),
  before: Type.Optional(Type.String({ maxLength: 1_024, description: '`next` of the page before' })),
};

export function readPage({
  limit = String(defaultLimit),
  before,
}: {
  readonly limit?: string;
  readonly before?: string;
}): PageRequest {
  if (!/^[1-9][0-9]{0,2}$/.test(limit) || Number(limit) > mostAtOnce) {
    throw new HttpError(400, `Invalid limit - must be a number from 1 to ${mostAtOnce}`);
  }
  return { limit: Number(limit), before: before === undefined ? undefined : readCursor(before) };
}

/** `rows`: one more than the page holds, where there are more. */
export function pageOf<T>(rows: readonly T[], limit: number, cursorOf: (row: T) => Cursor): Page<T> {
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  return { items, next: rows.length > limit && last !== undefined ? writeCursor(cursorOf(last)) : null };
}

export const writeCursor = ({ at, id }: Cursor): string => Buffer.from(`${at} ${id}`).toString('base64url');

function readCursor(text: string): Cursor {
  const [, at, id = ''] = /^([0-9]{1,15}) (.*)$/s.exec(Buffer.from(text, 'base64url').toString()) ?? [];
  // What no database can hold is no id of ours.
  if (at === undefined || id.includes('\0')) throw new HttpError(400, 'Invalid before');
  return { at: Number(at), id };
}
