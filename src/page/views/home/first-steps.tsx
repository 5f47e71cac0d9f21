/** What somebody new does first. Each step is ticked off by what there really is; the list can be put away. */
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { keptChoice } from '../../app/choices.ts';
import { Button, LinkButton } from '../../kit/button.tsx';
import { Card } from '../../kit/card.tsx';
import { Icon } from '../../kit/icon.tsx';
import { useLoad } from '../../kit/load.tsx';
import { notify } from '../../kit/notify.tsx';
import { kept } from '../../services/kept.ts';
import { nameUrl } from '../../services/names.ts';
import { type RoadProgress, readProgress } from '../../services/progress.ts';
import { serviceUrl, settings } from '../../services/settings.ts';
import { texts } from '../../texts.ts';
import { connectLocal } from '../../wallet/connect.ts';
import { openWalletChooser, wallet } from '../../wallet/wallet.ts';

const words = texts.home.steps;
const shown = keptChoice<'shown' | 'hidden'>('first-steps', ['shown', 'hidden'], 'shown');
/** The upload that was opened from here. */
const opened = kept<string>('first-steps');
const openedKey = 'opened';
const lookAgainMs = 5_000;

interface Step {
  readonly id: 'wallet' | 'credits' | 'upload' | 'name' | 'open';
  readonly isDone: boolean;
  readonly text: string;
  /** `isNext`: it is the first that is not done. */
  actions(isNext: boolean): ComponentChildren;
}

export function FirstSteps() {
  const address = wallet.value?.address;
  const progress = useLoad((signal) => readProgress(address, signal), [address], {
    everyMs: lookAgainMs,
    keep: true,
  });
  const [openedId, setOpenedId] = useState<string | undefined>(undefined);
  useEffect(() => {
    opened.get(openedKey).then(setOpenedId, () => undefined);
  }, []);
  if (shown.value === 'hidden') {
    return (
      <p class="steps-hidden">
        <button type="button" class="link-button" onClick={() => (shown.value = 'shown')}>
          {words.show}
        </button>
      </p>
    );
  }
  const known = progress.value ?? { hasCredits: false, upload: undefined, name: undefined };
  const remember = (id: string): void => {
    setOpenedId(id);
    opened.put(openedKey, id).catch(() => undefined);
  };
  const steps = stepsFor(known, openedId, remember);
  const next = steps.find(({ isDone }) => !isDone);
  return (
    <Card
      title={words.title}
      actions={
        <>
          <span class="soft">{words.done(steps.filter(({ isDone }) => isDone).length, steps.length)}</span>
          <Button kind="quiet" small onClick={() => (shown.value = 'hidden')}>
            {words.hide}
          </Button>
        </>
      }
    >
      <ol class="steps">
        {steps.map((step, at) => (
          <li key={step.id} class={step.isDone ? 'steps-done' : step === next ? 'steps-next' : undefined}>
            <span class="steps-mark">{step.isDone ? <Icon name="done" size={16} /> : at + 1}</span>
            <div class="steps-text">
              <h3>
                {words[step.id].title}
                {step.isDone && <span class="unseen"> ({words.isDone})</span>}
              </h3>
              <p class="soft">{step.text}</p>
            </div>
            <div class="actions">{step.actions(step === next)}</div>
          </li>
        ))}
      </ol>
    </Card>
  );
}

function stepsFor(known: RoadProgress, openedId: string | undefined, remember: (id: string) => void): Step[] {
  const isLocal = settings().controlsLocalNetwork;
  const kind = (isNext: boolean) => (isNext ? 'primary' : 'plain');
  const link = (id: 'credits' | 'upload' | 'name', href: string) => (isNext: boolean) => (
    <LinkButton href={href} kind={kind(isNext)}>
      {words[id].action}
    </LinkButton>
  );
  const address = openAddress(known);
  return [
    {
      id: 'wallet',
      isDone: wallet.value !== undefined,
      text: isLocal ? words.wallet.localText : words.wallet.text,
      actions: (isNext) => <WalletActions isLocal={isLocal} isNext={isNext} />,
    },
    {
      id: 'credits',
      isDone: known.hasCredits,
      text: isLocal ? words.credits.localText : words.credits.text,
      actions: link('credits', '/wallet/top-up'),
    },
    {
      id: 'upload',
      isDone: known.upload !== undefined,
      text: words.upload.text,
      actions: link('upload', '/upload'),
    },
    { id: 'name', isDone: known.name !== undefined, text: words.name.text, actions: link('name', '/names') },
    {
      id: 'open',
      isDone: known.upload !== undefined && openedId === known.upload.id,
      text: address === undefined ? words.open.waits : words.open.text,
      actions: (isNext) =>
        address !== undefined && (
          <a
            class={`button button-${kind(isNext)}`}
            href={address}
            target="_blank"
            rel="noopener noreferrer"
            onClick={() => remember(known.upload?.id ?? '')}
          >
            {words.open.action}
            <Icon name="out" size={16} />
          </a>
        ),
    },
  ];
}

function WalletActions({ isLocal, isNext }: { readonly isLocal: boolean; readonly isNext: boolean }) {
  const [isBusy, setBusy] = useState(false);
  const useFirst = async (): Promise<void> => {
    setBusy(true);
    try {
      // One that can do all of the steps: names belong to addresses of Solana.
      await connectLocal('solana', 0);
    } catch (error) {
      notify({ tone: 'bad', text: error instanceof Error ? error.message : String(error) });
    }
    setBusy(false);
  };
  const kind = isNext ? 'primary' : 'plain';
  if (!isLocal || !isNext) {
    return (
      <Button kind={kind} onClick={() => openWalletChooser()}>
        {isNext ? words.wallet.action : words.wallet.others}
      </Button>
    );
  }
  return (
    <>
      <Button kind={kind} busy={isBusy} onClick={useFirst}>
        {words.wallet.local}
      </Button>
      <Button kind="quiet" onClick={() => openWalletChooser()}>
        {words.wallet.others}
      </Button>
    </>
  );
}

/** Where everybody would open it: by its name, else by its id; through the router, which proves what it serves. */
function openAddress({ upload, name }: RoadProgress): string | undefined {
  if (upload === undefined) return undefined;
  const named = name === undefined ? undefined : (nameUrl('router', name) ?? nameUrl('gateway', name));
  const base = serviceUrl('router') ?? serviceUrl('gateway');
  return named ?? (base === undefined ? undefined : `${base}/${upload.id}`);
}
