/** Where the books are in the console, and how often they are looked at. */
export const root = '/operator/ledger';
export const everyMs = 10_000;

export const accountHref = (address: string): string => `${root}/accounts/${encodeURIComponent(address)}`;
