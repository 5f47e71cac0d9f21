/** The `promoCode` parameter: comma-separated, repeated, or both. */
import { Type } from 'typebox';

const text = Type.String({ maxLength: 1_000 });
export const promoQuery = Type.Optional(Type.Union([text, Type.Array(text, { maxItems: 20 })]));

export function promoCodes(value: string | readonly string[] | undefined): string[] {
  if (value === undefined) return [];
  const parts = (typeof value === 'string' ? [value] : value).flatMap((part) => part.split(','));
  return [...new Set(parts.map((part) => part.trim()).filter((part) => part !== ''))];
}
