import { Icon } from '../kit/icon.tsx';
import { texts } from '../texts.ts';
import { theme, themes } from './theme.ts';

export function ThemeSwitch() {
  return (
    <fieldset class="theme-switch">
      <legend class="unseen">{texts.shell.theme}</legend>
      {themes.map((each) => (
        <button
          key={each}
          type="button"
          class="icon-button"
          aria-pressed={theme.value === each}
          aria-label={texts.shell.themes[each]}
          title={texts.shell.themes[each]}
          onClick={() => {
            theme.value = each;
          }}
        >
          <Icon name={each} size={18} />
        </button>
      ))}
    </fieldset>
  );
}
