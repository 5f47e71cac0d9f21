/** Markup in which no value can become markup by accident. */

export class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type Part = Markup | string | number | undefined | readonly Part[];

const entities: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

export const escapeHtml = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => entities[character] ?? '');

export function html(strings: TemplateStringsArray, ...values: readonly Part[]): Markup {
  let text = strings[0] ?? '';
  for (const [index, value] of values.entries()) text += written(value) + (strings[index + 1] ?? '');
  return new Markup(text);
}

function written(part: Part): string {
  if (part === undefined) return '';
  if (part instanceof Markup) return part.text;
  if (Array.isArray(part)) return part.map(written).join('');
  return escapeHtml(String(part));
}
