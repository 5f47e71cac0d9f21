/**
 * Bodies as the card API takes them: `application/x-www-form-urlencoded` with brackets in the keys for
 * members (`metadata[order]=7`) and list positions (`line_items[0][quantity]=1`, `expand[]=charge`).
 *
 * Every size is bounded, and a key can never reach the prototype of what it builds.
 */

export type FormValue = string | FormValue[] | FormObject;
export interface FormObject {
  [key: string]: FormValue;
}

export const formLimits = { pairs: 1_000, depth: 8, keyLength: 500, listLength: 100 } as const;

/** The text is not a form, or is larger than anything the API takes. */
export class FormError extends Error {
  override readonly name = 'FormError';
}

/** Reads the text; throws `FormError` with a sentence for the caller. */
export function parseForm(text: string): FormObject {
  const root: FormObject = Object.create(null);
  let pairs = 0;
  for (const [key, value] of new URLSearchParams(text)) {
    pairs += 1;
    if (pairs > formLimits.pairs) throw new FormError(`More than ${formLimits.pairs} parameters`);
    place(root, pathOf(key), value);
  }
  return root;
}

function pathOf(key: string): string[] {
  if (key.length > formLimits.keyLength) throw new FormError('Parameter name too long');
  const match = /^([^[\]]+)((?:\[[^[\]]*\])*)$/.exec(key);
  if (match === null) throw new FormError(`Invalid parameter name: ${key}`);
  const [, head = '', rest = ''] = match;
  const path = [
    head,
    ...rest
      .split('[')
      .slice(1)
      .map((part) => part.slice(0, -1)),
  ];
  if (path.length > formLimits.depth)
    throw new FormError(`Parameters nested deeper than ${formLimits.depth}`);
  return path;
}

function place(root: FormObject, path: readonly string[], value: string): void {
  let holder: FormObject | FormValue[] = root;
  for (const [depth, part] of path.entries()) {
    const next = path[depth + 1];
    if (next === undefined) {
      write(holder, part, value);
      return;
    }
    const present: FormValue | undefined = read(holder, part);
    if (present === undefined || typeof present === 'string') {
      const made: FormObject | FormValue[] = isListKey(next) ? [] : Object.create(null);
      write(holder, part, made);
      holder = made;
    } else {
      holder = present;
    }
  }
}

const isListKey = (part: string) => part === '' || /^[0-9]+$/.test(part);

function read(holder: FormObject | FormValue[], part: string): FormValue | undefined {
  if (!Array.isArray(holder)) return holder[part];
  return part === '' ? undefined : holder[indexOf(part)];
}

function write(holder: FormObject | FormValue[], part: string, value: FormValue): void {
  if (!Array.isArray(holder)) {
    holder[part] = value;
    return;
  }
  const index = part === '' ? holder.length : indexOf(part);
  if (index > holder.length) throw new FormError('List positions must follow each other');
  if (index >= formLimits.listLength)
    throw new FormError(`Lists hold at most ${formLimits.listLength} entries`);
  holder[index] = value;
}

function indexOf(part: string): number {
  if (!/^[0-9]{1,3}$/.test(part)) throw new FormError(`Invalid list position: ${part}`);
  return Number(part);
}
