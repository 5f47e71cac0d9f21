import { useState } from 'preact/hooks';
import { navigate } from '../../app/location.ts';
import { Button } from '../../kit/button.tsx';
import { texts } from '../../texts.ts';
import { maxSearchLength } from './search-target.ts';

/** On every page of the explorer. */
export function SearchBox({ text = '' }: { readonly text?: string }) {
  const [value, setValue] = useState(text);
  const words = texts.explorer;
  return (
    <search>
      <form
        class="explorer-search"
        onSubmit={(event) => {
          event.preventDefault();
          if (value.trim() !== '') navigate(`/search?q=${encodeURIComponent(value.trim())}`);
        }}
      >
        <label class="unseen" for="explorer-search">
          {words.searchLabel}
        </label>
        <input
          id="explorer-search"
          type="search"
          value={value}
          placeholder={words.searchHint}
          maxLength={maxSearchLength}
          autocomplete="off"
          spellcheck={false}
          onInput={(event) => setValue(event.currentTarget.value)}
        />
        <Button kind="primary" submit>
          {words.search}
        </Button>
      </form>
    </search>
  );
}
