/** Above every view: search, the state of the connection, the wallet. */
import type { ComponentChildren } from 'preact';
import { useRef } from 'preact/hooks';
import { Icon } from '../kit/icon.tsx';
import { useStateWhile } from '../kit/state-while.ts';
import { texts } from '../texts.ts';
import { navigate, place } from './location.ts';
import { togglePalette } from './palette-dialog.tsx';

export const searchFieldId = 'search';

/** There the key that goes with letters is another one. */
const isMac = /mac|iphone|ipad/i.test(navigator.platform);

interface Props {
  readonly live?: ComponentChildren;
  readonly wallet?: ComponentChildren;
}

export function Header({ live, wallet }: Props) {
  return (
    <header class="header">
      <a class="brand" href="/" aria-label={texts.shell.toHome}>
        <img src="/icon.svg" alt="" width="28" height="28" />
      </a>
      <SearchBox />
      <div class="header-end">
        {live}
        {wallet}
      </div>
    </header>
  );
}

function SearchBox() {
  const { path, query } = place.value;
  const searched = path === '/search' ? (query.get('q') ?? '') : '';
  // What was searched for stays there while its results are shown.
  const [text, setText] = useStateWhile(searched, [searched, path]);
  const field = useRef<HTMLInputElement>(null);
  return (
    <search class="search">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const asked = text.trim();
          if (asked === '') field.current?.focus();
          else navigate(`/search?q=${encodeURIComponent(asked)}`);
        }}
      >
        <Icon name="search" size={18} />
        <input
          ref={field}
          id={searchFieldId}
          type="search"
          aria-label={texts.shell.search}
          aria-keyshortcuts="/"
          placeholder={texts.shell.searchHint}
          autocomplete="off"
          spellcheck={false}
          maxLength={500}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        <button
          type="button"
          class="palette-button"
          aria-keyshortcuts="Control+K Meta+K"
          aria-haspopup="dialog"
          title={texts.shell.palette}
          onClick={togglePalette}
        >
          <span class="unseen">{texts.shell.palette}</span>{' '}
          <kbd>{isMac ? texts.shell.paletteKeyOnMac : texts.shell.paletteKey}</kbd>
        </button>
      </form>
    </search>
  );
}
