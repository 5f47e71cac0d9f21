/** Light, dark, or as the system has it. */
import { keptChoice } from './choices.ts';

export const themes = ['system', 'light', 'dark'] as const;
export type Theme = (typeof themes)[number];

export const theme = keptChoice<Theme>('theme', themes, 'system');

/** Called once, before anything is shown. */
export function applyTheme(): void {
  theme.subscribe((chosen) => {
    if (chosen === 'system') document.documentElement.removeAttribute('data-theme');
    else document.documentElement.setAttribute('data-theme', chosen);
  });
}
