/** Where uploads on their way are in the console, and how often they are looked at. */
export const root = '/operator/bundler';
export const everyMs = 4_000;

export const bundleHref = (plan: string): string => `${root}/bundle/${encodeURIComponent(plan)}`;
export const itemHref = (id: string): string => `${root}/item/${encodeURIComponent(id)}`;
