/** The sections of the console, and which paths each of them shows. */
import type { ComponentType } from 'preact';
import type { Place, ViewProps } from './app/location.ts';
import type { texts } from './texts.ts';

export interface Section {
  readonly id: keyof typeof texts.sections;
  /** First segments of the paths that it shows; the first of them is where its link leads. */
  readonly roots: readonly string[];
  /** Loaded when it is first shown. */
  readonly load: () => Promise<{ readonly default: ComponentType<ViewProps> }>;
  /** Shown in the local world only. */
  readonly localOnly?: boolean;
}

export const sections: readonly Section[] = [
  { id: 'home', roots: [''], load: () => import('./views/home/home.tsx') },
  {
    id: 'explorer',
    roots: ['explorer', 'tx', 'block', 'address', 'tag', 'search'],
    load: () => import('./views/explorer/explorer.tsx'),
  },
  { id: 'wallet', roots: ['wallet', 'account'], load: () => import('./views/wallet/wallet.tsx') },
  { id: 'upload', roots: ['upload'], load: () => import('./views/upload/upload.tsx') },
  { id: 'names', roots: ['names', 'name'], load: () => import('./views/names/names.tsx') },
  { id: 'operator', roots: ['operator'], load: () => import('./views/operator/operator.tsx') },
  { id: 'local', roots: ['local'], load: () => import('./views/local/local.tsx'), localOnly: true },
];

/** Which of those that are shown. */
export function sectionOf({ segments }: Place, shown: readonly Section[]): Section | undefined {
  return shown.find(({ roots }) => roots.includes(segments[0] ?? ''));
}
