/** Everything that can be done and gone to, by writing some of its words. */
import { signal } from '@preact/signals';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { useModal } from '../kit/dialog.tsx';
import { formatCount } from '../kit/format.ts';
import { Icon } from '../kit/icon.tsx';
import { texts } from '../texts.ts';
import { navigate } from './location.ts';
import { allCommands, type Command, matchCommands } from './palette.ts';

const isOpen = signal(false);

export function togglePalette(): void {
  isOpen.value = !isOpen.value;
}

export function PaletteDialog() {
  return isOpen.value ? <OpenPalette close={() => (isOpen.value = false)} /> : null;
}

function OpenPalette({ close }: { readonly close: () => void }) {
  const modal = useModal(close);
  const list = useRef<HTMLDivElement>(null);
  const id = useId();
  const [query, setQuery] = useState('');
  const [chosen, setChosen] = useState(0);
  const [commands] = useState(allCommands);
  const shown = [...matchCommands(commands, query), ...searchFor(query)];
  const active = Math.min(chosen, shown.length - 1);
  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' });
  }, [active, query]);
  const perform = (command: Command | undefined): void => {
    if (command === undefined) return;
    // Closed first, so that the focus is where it was when the command moves it.
    modal.ref.current?.close();
    close();
    if (command.href === undefined) command.run?.();
    else navigate(command.href);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.isComposing) return;
    const steps: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 };
    const step = steps[event.key];
    if (step !== undefined && shown.length > 0) setChosen((active + step + shown.length) % shown.length);
    else if (event.key === 'Enter') perform(shown[active]);
    else return;
    event.preventDefault();
  };
  return (
    <dialog {...modal} class="dialog palette" aria-label={texts.shell.palette}>
      <div class="palette-input">
        <Icon name="search" />
        <input
          type="text"
          role="combobox"
          aria-label={texts.shell.palette}
          aria-expanded="true"
          aria-controls={id}
          aria-autocomplete="list"
          aria-activedescendant={shown.length > 0 ? `${id}-${active}` : undefined}
          placeholder={texts.shell.paletteHint}
          autocomplete="off"
          spellcheck={false}
          maxLength={200}
          value={query}
          onInput={(event) => {
            setQuery(event.currentTarget.value);
            setChosen(0);
          }}
          onKeyDown={onKeyDown}
        />
        <kbd>Esc</kbd>
      </div>
      <div
        class="palette-list"
        role="listbox"
        id={id}
        aria-label={texts.shell.commands}
        ref={list}
        tabIndex={-1}
      >
        {shown.map((command, at) => (
          <div
            key={command.id}
            id={`${id}-${at}`}
            role="option"
            tabIndex={-1}
            aria-selected={at === active}
            onPointerMove={() => setChosen(at)}
            onClick={() => perform(command)}
            onKeyDown={onKeyDown}
          >
            <span>{command.label}</span>
            {command.hint !== undefined && <span class="soft">{command.hint}</span>}
          </div>
        ))}
        {shown.length === 0 && <p class="soft palette-none">{texts.shell.noCommands}</p>}
      </div>
      <output class="unseen">{texts.shell.commandCount(formatCount(shown.length))}</output>
    </dialog>
  );
}

function searchFor(query: string): Command[] {
  const text = query.trim();
  if (text === '') return [];
  return [
    {
      id: 'search',
      label: texts.shell.searchFor(text),
      hint: texts.sections.explorer,
      href: `/search?q=${encodeURIComponent(text)}`,
    },
  ];
}
