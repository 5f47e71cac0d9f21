import { useState } from 'preact/hooks';
import { Button, LinkButton } from '../../kit/button.tsx';
import { Card, Figure, Figures } from '../../kit/card.tsx';
import { Dialog } from '../../kit/dialog.tsx';
import { clampText, formatCount } from '../../kit/format.ts';
import { Json } from '../../kit/json.tsx';
import { Loaded, useLoad } from '../../kit/load.tsx';
import { PageTitle } from '../../kit/page-title.tsx';
import { Empty } from '../../kit/state.tsx';
import { Table } from '../../kit/table.tsx';
import type { Tone } from '../../kit/tone.ts';
import { Badge, Id, Time } from '../../kit/value.tsx';
import {
  type Delivery,
  type DeliveryState,
  readCardEvents,
  readDeliveries,
  readWebhooks,
  resendEvent,
} from '../../services/local.ts';
import { texts } from '../../texts.ts';
import { type Actions, useActions } from './use-action.ts';

const words = texts.local.card;
const refreshMs = 3_000;
const states: readonly DeliveryState[] = ['waiting', 'delivered', 'dropped', 'failed'];
const tones: Readonly<Record<DeliveryState, Tone>> = {
  waiting: 'info',
  delivered: 'good',
  dropped: 'warn',
  failed: 'bad',
};

export function Webhooks() {
  const webhooks = useLoad(
    async () => {
      const [state, deliveries] = await Promise.all([readWebhooks(), readDeliveries()]);
      return { ...state, rows: deliveries };
    },
    [],
    { everyMs: refreshMs },
  );
  const actions = useActions(webhooks.again);
  const [shown, setShown] = useState<string | undefined>(undefined);
  return (
    <>
      <PageTitle title={words.title} note={words.note} />
      <Loaded of={webhooks}>
        {({ deliveries, url, rows }) => (
          <>
            <Figures>
              {states.map((state) => (
                <Figure key={state} label={words[state]} value={formatCount(deliveries[state])} />
              ))}
            </Figures>
            <Card title={words.caption}>
              <p class="soft">
                {words.to} <bdi class="mono">{url ?? words.nowhere}</bdi>
              </p>
              <Deliveries rows={rows} actions={actions} show={setShown} />
            </Card>
          </>
        )}
      </Loaded>
      <Dialog wide open={shown !== undefined} title={shown ?? ''} onClose={() => setShown(undefined)}>
        {shown !== undefined && <EventBody id={shown} />}
      </Dialog>
    </>
  );
}

interface DeliveriesProps {
  readonly rows: readonly Delivery[];
  readonly actions: Actions;
  readonly show: (event: string) => void;
}

function Deliveries({ rows, actions, show }: DeliveriesProps) {
  const resend = (event: string) =>
    actions.run(`resend ${event}`, async () => {
      await resendEvent(event);
      return words.resent;
    });
  return (
    <Table
      caption={words.caption}
      rows={rows}
      rowKey={({ seq }) => String(seq)}
      empty={
        <Empty title={words.none} action={<LinkButton href="/wallet/top-up">{words.noneAction}</LinkButton>}>
          {words.noneNote}
        </Empty>
      }
      columns={[
        {
          id: 'event',
          head: words.event,
          wide: true,
          cell: ({ type, event }) => (
            <>
              <bdi>{type}</bdi>
              <br />
              <Id value={event} what={words.event} />
            </>
          ),
        },
        {
          id: 'state',
          head: words.state,
          cell: ({ state }) => <Badge tone={tones[state]}>{words.states[state]}</Badge>,
        },
        { id: 'attempts', head: words.attempts, align: 'end', cell: ({ attempts }) => attempts },
        {
          id: 'answer',
          head: words.answer,
          cell: ({ answer }) => <bdi class="foreign">{clampText(answer ?? '–', 80)}</bdi>,
        },
        { id: 'at', head: words.at, cell: ({ created }) => <Time at={created * 1_000} /> },
        {
          id: 'actions',
          head: <span class="unseen">{words.actions}</span>,
          align: 'end',
          cell: ({ event }) => (
            <span class="local-row-actions">
              <Button small kind="quiet" label={words.detailsLabel(event)} onClick={() => show(event)}>
                {words.details}
              </Button>
              <Button
                small
                label={words.resendLabel(event)}
                busy={actions.busy === `resend ${event}`}
                onClick={() => resend(event)}
              >
                {words.resend}
              </Button>
            </span>
          ),
        },
      ]}
    />
  );
}

function EventBody({ id }: { readonly id: string }) {
  const events = useLoad(readCardEvents, [id]);
  return (
    <Loaded of={events}>
      {({ data }) => {
        const event = data.find((one) => one.id === id);
        return event === undefined ? <p>{words.eventGone}</p> : <Json value={event} />;
      }}
    </Loaded>
  );
}
