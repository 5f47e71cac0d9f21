/** Email addresses of gifts are kept as HTML would show them; people read them as they were written. */
export const unescapeHtml = (text: string): string =>
  text.replaceAll(/&#(34|38|39|60|62);/g, (_all, code: string) => String.fromCharCode(Number(code)));
