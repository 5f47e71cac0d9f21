/** What happens to the wallet, the moment it does, and below what balance it is told that its credits run low. */
import { useEffect, useState } from 'preact/hooks';
import { Button } from '../../kit/button.tsx';
import { Card } from '../../kit/card.tsx';
import { Form, TextField } from '../../kit/form.tsx';
import { formatDecimal } from '../../kit/format.ts';
import { Loaded, useLoad } from '../../kit/load.tsx';
import { isPaused } from '../../kit/moving.ts';
import { notify } from '../../kit/notify.tsx';
import { Empty, Problem } from '../../kit/state.tsx';
import { Badge, Time } from '../../kit/value.tsx';
import { ServiceError } from '../../services/console.ts';
import { followWallet, type WalletEvent } from '../../services/wallet-events.ts';
import { texts } from '../../texts.ts';
import { changeAs, readAs } from '../../wallet/ask-as.ts';
import type { Wallet } from '../../wallet/wallet.ts';
import { parseAmount } from './amounts.ts';
import { describeEvent } from './event-words.ts';
import { OfWallet } from './of-wallet.tsx';

const words = texts.wallet.notices;
/** Rows of the log that are told when the page opens, and events that it shows. */
const lastRows = 50;
const mostShown = 200;
/** What happened before the page was opened is listed, and not called out; clocks may differ by so much. */
const clocksMs = 3_000;
const creditDecimals = 12;

export function Notices() {
  const { title, note, signNote, show } = words;
  return (
    <OfWallet {...{ title, note, signNote, show }}>
      {(current) => (
        <>
          <LowBalance of={current} />
          <Events of={current} />
        </>
      )}
    </OfWallet>
  );
}

interface Notice {
  readonly winc: string;
  readonly own: boolean;
}

function LowBalance({ of: current }: { readonly of: Wallet }) {
  const notice = useLoad(
    () =>
      readAs<Notice>(current, '/v1/account/notice').catch((error: unknown) => {
        // An older service, which tells nobody.
        if (error instanceof ServiceError && error.status === 404) return undefined;
        throw error;
      }),
    [current.address],
  );
  return (
    <Card title={words.low.title}>
      <Loaded of={notice}>
        {(known) =>
          known === undefined ? (
            <p class="soft">{words.low.unknown}</p>
          ) : (
            <LowBalanceForm key={known.winc} of={current} notice={known} changed={notice.again} />
          )
        }
      </Loaded>
    </Card>
  );
}

interface LowBalanceFormProps {
  readonly of: Wallet;
  readonly notice: Notice;
  readonly changed: () => void;
}

function LowBalanceForm({ of: current, notice, changed }: LowBalanceFormProps) {
  const before = formatDecimal(BigInt(notice.winc), creditDecimals);
  const [text, setText] = useState(notice.winc === '0' ? '' : before);
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState<Error | undefined>(undefined);
  const amount = text.trim() === '' || Number(text) === 0 ? 0n : parseAmount(text, creditDecimals);
  const save = async (): Promise<void> => {
    if (amount === undefined) return;
    setBusy(true);
    setFailure(undefined);
    try {
      await changeAs<Notice>(current, 'PUT', '/v1/account/notice', { winc: amount.toString() });
      notify({ tone: 'good', text: amount === 0n ? words.low.off : words.low.saved });
      changed();
    } catch (error) {
      setFailure(
        error instanceof ServiceError && error.status === 404
          ? new Error(words.low.noAccount)
          : (error as Error),
      );
    }
    setBusy(false);
  };
  return (
    <div class="wallet-narrow">
      <Form onSubmit={save} busy={isBusy} error={failure}>
        <TextField
          label={words.low.label}
          hint={notice.own || notice.winc === '0' ? words.low.hint : words.low.usual(before)}
          value={text}
          onInput={setText}
          inputMode="decimal"
          placeholder="0.5"
          maxLength={40}
          error={amount === undefined ? words.low.wrong : undefined}
        />
        <div class="actions">
          <Button submit busy={isBusy} disabled={amount === undefined}>
            {words.low.save}
          </Button>
        </div>
      </Form>
    </div>
  );
}

function Events({ of: current }: { readonly of: Wallet }) {
  const [events, setEvents] = useState<readonly WalletEvent[]>([]);
  const [isConnected, setConnected] = useState(false);
  const [problem, setProblem] = useState<Error | undefined>(undefined);
  const [tries, setTries] = useState(0);
  const isStill = isPaused.value;
  useEffect(() => {
    // What happens while the page stands still comes when it goes on.
    if (isStill) return undefined;
    setProblem(undefined);
    const since = Date.now() - clocksMs;
    const ticket = async (): Promise<string> =>
      (await readAs<{ ticket: string }>(current, '/v1/events/ticket', 'POST')).ticket;
    return followWallet(ticket, lastRows, {
      onEvent: (event) => {
        setEvents((before) =>
          before.some(({ id }) => id === event.id) ? before : [event, ...before].slice(0, mostShown),
        );
        if (event.time >= since) callOut(event);
      },
      onState: setConnected,
      onProblem: setProblem,
    });
  }, [isStill, tries]);
  const state = isStill ? words.paused : isConnected ? words.following : words.connecting;
  return (
    <Card
      title={words.happened}
      actions={<Badge tone={isConnected && !isStill ? 'good' : 'neutral'}>{state}</Badge>}
    >
      {problem !== undefined && <Problem error={problem} again={() => setTries(tries + 1)} />}
      {events.length === 0 ? (
        <Empty title={words.nothing}>{words.nothingNote}</Empty>
      ) : (
        <ol class="wallet-events" aria-label={words.happened}>
          {events.map((event) => (
            <EventLine key={event.id} event={event} />
          ))}
        </ol>
      )}
    </Card>
  );
}

function EventLine({ event }: { readonly event: WalletEvent }) {
  const { text, tone, href } = describeEvent(event);
  return (
    <li>
      <span class="wallet-event-type">
        <Badge tone={tone}>{event.type}</Badge>
      </span>
      <span class="wallet-event-text">{href === undefined ? text : <a href={href}>{text}</a>}</span>
      <span class="soft">
        <Time at={event.time} />
      </span>
    </li>
  );
}

/** What somebody should know now, even while looking at something else on the page. */
function callOut(event: WalletEvent): void {
  const { text, tone, href } = describeEvent(event);
  if (tone === 'warn' || tone === 'bad' || event.type === 'credits.paid') notify({ tone, text, href });
}
