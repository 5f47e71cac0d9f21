/**
 * What the owner of a name's token signs to have a record changed: the action and every field of it, line by line, then a
 * nonce (interface §5); bound to one service where that says how it is named.
 */
import type { RecordAction } from '../../services/names.ts';

/** The fields of a create request. */
export type ActionBody = Readonly<Record<string, unknown>>;

/** Stands for a field that is cleared, and for one that is left as it is. */
const cleared = '\u0000';
const untouched = '\u0002';
const keywordSeparator = '\u0001';

export function ownerProofText(
  action: RecordAction,
  body: ActionBody,
  nonce: string,
  service: string | undefined,
): string {
  const message = ['arns', action, text(body.antId), text(body.undername), ...fieldsOf(action, body)].join(
    '\n',
  );
  return service === undefined
    ? message + nonce
    : ['turnpike owner proof', service, message, nonce].join('\n');
}

function fieldsOf(action: RecordAction, body: ActionBody): string[] {
  switch (action) {
    case 'set-record':
      return [text(body.transactionId), text(body.ttlSeconds)];
    case 'transfer-record':
      return [text(body.target)];
    case 'set-record-metadata':
      return [body.displayName, body.recordLogo, body.recordDescription, body.recordKeywords].map(change);
    case 'remove-record':
    case 'remove-record-metadata':
      return [];
  }
}

function change(value: unknown): string {
  if (value === undefined) return untouched;
  if (value === null) return cleared;
  return Array.isArray(value) ? value.join(keywordSeparator) : text(value);
}

function text(value: unknown): string {
  if (typeof value !== 'string' && typeof value !== 'number')
    throw new Error('a field of the action is missing');
  return String(value);
}
