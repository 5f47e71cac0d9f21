/** A whole number as somebody wrote it; undefined where it is none or out of bounds. */
export function wholeNumber(text: string, least: number, most: number): number | undefined {
  const number = /^-?\d{1,9}$/.test(text.trim()) ? Number(text) : Number.NaN;
  return number >= least && number <= most ? number : undefined;
}
