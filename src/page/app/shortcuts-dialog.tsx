/** The list of keys, and the switch for the single ones. */
import { signal } from '@preact/signals';
import { Dialog } from '../kit/dialog.tsx';
import { Checkbox } from '../kit/form.tsx';
import { texts } from '../texts.ts';
import { singleKeys } from './shortcuts.ts';

const isOpen = signal(false);

export function openShortcuts(): void {
  isOpen.value = true;
}

interface Props {
  /** Sections by the letter that leads to them. */
  readonly letters: readonly (readonly [letter: string, label: string])[];
}

export function ShortcutsDialog({ letters }: Props) {
  const { keys } = texts.shell;
  return (
    <Dialog open={isOpen.value} title={texts.shell.shortcuts} onClose={() => (isOpen.value = false)}>
      <table class="table shortcuts">
        <caption class="unseen">{texts.shell.shortcuts}</caption>
        <tbody>
          <KeyRow
            keys={[
              ['Ctrl', 'K'],
              ['⌘', 'K'],
            ]}
            label={keys.palette}
          />
          <KeyRow keys={[['/']]} label={keys.search} />
          <KeyRow keys={[['?']]} label={keys.shortcuts} />
          <KeyRow keys={[['Esc']]} label={keys.close} />
          {letters.map(([letter, label]) => (
            <KeyRow key={letter} keys={[['g', letter]]} label={keys.go(label)} />
          ))}
        </tbody>
      </table>
      <Checkbox
        label={keys.singleKeys}
        hint={keys.singleKeysHint}
        checked={singleKeys.value === 'on'}
        onChange={(isOn) => {
          singleKeys.value = isOn ? 'on' : 'off';
        }}
      />
    </Dialog>
  );
}

interface KeyRowProps {
  /** Ways to say it; each is keys that are pressed together or after each other. */
  readonly keys: readonly (readonly string[])[];
  readonly label: string;
}

function KeyRow({ keys, label }: KeyRowProps) {
  return (
    <tr>
      <th scope="row">
        {keys.map((way, at) => (
          <span key={way.join()}>
            {at > 0 && ` ${texts.shell.keys.or} `}
            {way.map((each) => (
              <kbd key={each}>{each}</kbd>
            ))}
          </span>
        ))}
      </th>
      <td class="wide">{label}</td>
    </tr>
  );
}
