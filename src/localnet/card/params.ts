/**
 * Strict reading of a request's parameters. Each reader takes what it names off the form; what is left at
 * the end is a parameter the provider does not know, and is refused as Stripe refuses it. A misspelt
 * parameter is therefore found at home and not in production.
 */
import { invalidRequest, missingParameter, unknownParameter } from './errors.ts';

const metadataLimits = { keys: 50, keyLength: 40, valueLength: 500 };

export class Params {
  readonly #form: FormObject;
  readonly #prefix: string;
  readonly #seen = new Set<string>();

  constructor(form: FormObject, prefix = '') {
    this.#form = form;
    this.#prefix = prefix;
  }

  has(key: string): boolean {
    return this.#form[key] !== undefined;
  }

  /** A text where there may be members too. */
  isText(key: string): boolean {
    return typeof this.#form[key] === 'string';
  }

  optionalText(key: string, maxLength = 5_000): string | undefined {
    const value = this.#take(key);
    if (value === undefined || value === '') return undefined;
    if (typeof value !== 'string') throw this.#invalid('string', key);
    if (value.length > maxLength) {
      throw invalidRequest(
        `Invalid string: ${this.#name(key)} must be at most ${maxLength} characters`,
        this.#at(key),
      );
    }
    return value;
  }

  text(key: string, maxLength?: number): string {
    const value = this.optionalText(key, maxLength);
    if (value === undefined) throw missingParameter(this.#name(key));
    return value;
  }

  optionalInteger(key: string): number | undefined {
    const value = this.optionalText(key);
    if (value === undefined) return undefined;
    if (!/^[0-9]{1,15}$/.test(value)) {
      throw invalidRequest(`Invalid integer: ${value}`, {
        code: 'parameter_invalid_integer',
        ...this.#at(key),
      });
    }
    return Number(value);
  }

  integer(key: string): number {
    const value = this.optionalInteger(key);
    if (value === undefined) throw missingParameter(this.#name(key));
    return value;
  }

  flag(key: string): boolean {
    const value = this.optionalText(key);
    if (value === undefined || value === 'false') return false;
    if (value !== 'true') throw invalidRequest(`Invalid boolean: ${value}`, this.#at(key));
    return true;
  }

  choice<const C extends string>(key: string, choices: readonly C[]): C | undefined {
    const value = this.optionalText(key);
    if (value === undefined) return undefined;
    const found = choices.find((choice) => choice === value);
    if (found === undefined) {
      throw invalidRequest(`Invalid ${this.#name(key)}: must be one of ${choices.join(', ')}`, this.#at(key));
    }
    return found;
  }

  url(key: string): string | undefined {
    const value = this.optionalText(key);
    if (value === undefined) return undefined;
    const plain = value.replaceAll('{CHECKOUT_SESSION_ID}', 'id');
    if (!URL.canParse(plain) || !/^https?:$/.test(new URL(plain).protocol)) {
      throw invalidRequest('Not a valid URL', { code: 'url_invalid', ...this.#at(key) });
    }
    return value;
  }

  texts(key: string): string[] | undefined {
    return this.#list(key)?.map((item) => {
      if (typeof item !== 'string') throw this.#invalid('array', key);
      return item;
    });
  }

  object(key: string): Params | undefined {
    const value = this.#members(key);
    return value && new Params(value, this.#name(key));
  }

  objects(key: string): Params[] | undefined {
    return this.#list(key)?.map((item, index) => {
      if (typeof item === 'string' || Array.isArray(item)) throw this.#invalid('array', key);
      return new Params(item, `${this.#name(key)}[${index}]`);
    });
  }

  /**
   * Up to 50 keys of 40 characters with values of 500 (https://docs.stripe.com/api/metadata). What is given is added to
   * `before`; an empty value takes its key away, and an empty text all of them.
   */
  metadata(before: Readonly<Record<string, string>> = {}): Record<string, string> {
    const key = 'metadata';
    const { keys, keyLength, valueLength } = metadataLimits;
    if (this.#form[key] === '') {
      this.#seen.add(key);
      return {};
    }
    const after = new Map(Object.entries(before));
    for (const [name, text] of Object.entries(this.#members(key) ?? {})) {
      const refuse = (message: string) => invalidRequest(message, this.#at(`${key}[${name}]`));
      if (typeof text !== 'string') throw refuse('Metadata values must be strings');
      if (name.length > keyLength) throw refuse(`Metadata keys must be ${keyLength} characters or less`);
      if (text.length > valueLength) {
        throw refuse(`Metadata values can have up to ${valueLength} characters`);
      }
      if (text === '') after.delete(name);
      else after.set(name, text);
    }
    if (after.size > keys) {
      throw invalidRequest(`Metadata can have up to ${keys} keys`, this.#at(key));
    }
    return Object.fromEntries(after);
  }

  /** Call when everything known has been read. */
  done(): void {
    for (const key of Object.keys(this.#form)) {
      if (!this.#seen.has(key)) throw unknownParameter(this.#name(key));
    }
  }

  #list(key: string): readonly FormValue[] | undefined {
    const value = this.#take(key);
    if (value === undefined || value === '') return undefined;
    if (!Array.isArray(value)) throw this.#invalid('array', key);
    return value;
  }

  #members(key: string): FormObject | undefined {
    const value = this.#take(key);
    if (value === undefined || value === '') return undefined;
    if (typeof value === 'string' || Array.isArray(value)) throw this.#invalid('object', key);
    return value;
  }

  #invalid(type: string, key: string): Error {
    return invalidRequest(`Invalid ${type}: ${this.#name(key)}`, this.#at(key));
  }

  #take(key: string): FormValue | undefined {
    this.#seen.add(key);
    return this.#form[key];
  }

  #name(key: string): string {
    return this.#prefix === '' ? key : `${this.#prefix}[${key}]`;
  }

  #at(key: string): { param: string } {
    return { param: this.#name(key) };
  }
}

/** The current name of the list, and the one of API versions before 2026-10. */
export function readMethodTypes(params: Params): string[] {
  const allowed = params.texts('allowed_payment_method_types');
  return allowed ?? params.texts('payment_method_types') ?? ['card'];
}

type FormValue = string | FormValue[] | FormObject;
interface FormObject {
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
