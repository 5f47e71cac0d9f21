/** 0.125 as `12.5 %`. */
export const formatShare = (share: number): string => `${(100 * share).toFixed(1)} %`;

/** Of a time that may not be known. */
export const formatMs = (ms: number | null): string =>
  ms === null ? '–' : `${ms.toFixed(ms < 10 ? 1 : 0)} ms`;
