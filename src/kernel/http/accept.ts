/** Which of two types a client would rather have (RFC 9110 §12.5.1). */

/** Further ranges are ignored. */
const maxRanges = 64;

/** Whether `Accept` gives the one type a higher quality than the other; both are alike where it does not say. */
export function prefersType(accept: string | undefined, one: string, other: string): boolean {
  if (accept === undefined) return false;
  const ranges = accept.split(',', maxRanges).map(parseRange);
  return qualityOf(ranges, one) > qualityOf(ranges, other);
}

interface MediaRange {
  readonly type: string;
  readonly quality: number;
}

function parseRange(text: string): MediaRange {
  const [type = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase());
  const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? '1';
  return { type, quality: /^(0(\.[0-9]{0,3})?|1(\.0{0,3})?)$/.test(weight) ? Number(weight) : 1 };
}

/** The most specific range decides; a type that none covers is not acceptable. */
function qualityOf(ranges: readonly MediaRange[], type: string): number {
  const family = `${type.split('/', 1)[0] ?? ''}/*`;
  for (const specific of [type, family, '*/*']) {
    const range = ranges.find((one) => one.type === specific);
    if (range !== undefined) return range.quality;
  }
  return 0;
}
