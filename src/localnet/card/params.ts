/**
 * Strict reading of a request's parameters. Each reader takes what it names off the form; what is left at
 * the end is a parameter the provider does not know, and is refused as Stripe refuses it. A misspelt
 * parameter is therefore found at home and not in production.
 */
import { invalidRequest, missingParameter, unknownParameter } from './errors.ts';
import type { FormObject, FormValue } from './form.ts';

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

  /** Up to 50 keys of 40 characters with values of 500 (https://docs.stripe.com/api/metadata). */
  metadata(key = 'metadata'): Record<string, string> {
    const { keys, keyLength, valueLength } = metadataLimits;
    const entries: [string, string][] = [];
    for (const [name, text] of Object.entries(this.#members(key) ?? {})) {
      const refuse = (message: string) => invalidRequest(message, this.#at(`${key}[${name}]`));
      if (typeof text !== 'string') throw refuse('Metadata values must be strings');
      if (name.length > keyLength) throw refuse(`Metadata keys must be ${keyLength} characters or less`);
      if (text.length > valueLength) {
        throw refuse(`Metadata values can have up to ${valueLength} characters`);
      }
      if (text !== '') entries.push([name, text]);
    }
    if (entries.length > keys) {
      throw invalidRequest(`Metadata can have up to ${keys} keys`, this.#at(key));
    }
    return Object.fromEntries(entries);
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
