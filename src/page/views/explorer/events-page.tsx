/** What happens, the moment it does: the gateway's stream of events, narrowed as the address says. */
import { useEffect, useState } from 'preact/hooks';
import { navigate, type Place } from '../../app/location.ts';
import { Button } from '../../kit/button.tsx';
import { Card } from '../../kit/card.tsx';
import { Form, Select, TextField } from '../../kit/form.tsx';
import { clampText, formatBytes, formatCount } from '../../kit/format.ts';
import { Code } from '../../kit/json.tsx';
import { isPaused } from '../../kit/moving.ts';
import { PageTitle } from '../../kit/page-title.tsx';
import { Empty, Problem } from '../../kit/state.tsx';
import { Table } from '../../kit/table.tsx';
import type { Tone } from '../../kit/tone.ts';
import { Badge, Id, Time } from '../../kit/value.tsx';
import { type ChainEvent, eventsUrl, followEvents } from '../../services/events.ts';
import { texts } from '../../texts.ts';

const words = texts.explorer.events;
/** Older ones are in the lists. */
const mostShown = 200;
/** Rows of the gateway's log that are told when the page opens. */
const lastRows = 50;
const ofBlocks = ['block.new', 'block.final', 'block.reverted'];
const states = ['new', 'mined', 'final', 'reverted'];
const kinds = {
  all: [...states.flatMap((state) => [`item.${state}`, `transaction.${state}`]), ...ofBlocks],
  items: states.map((state) => `item.${state}`),
  transactions: states.map((state) => `transaction.${state}`),
  blocks: ofBlocks,
} as const;
type Kind = keyof typeof kinds;
const kindNames: readonly Kind[] = ['all', 'items', 'transactions', 'blocks'];
const tones: Readonly<Record<string, Tone>> = { new: 'info', mined: 'good', final: 'good', reverted: 'warn' };

interface Wanted {
  readonly kind: Kind;
  readonly tag: string;
  readonly owner: string;
}

export function EventsPage({ place }: { readonly place: Place }) {
  const { query } = place;
  const kind = kindNames.find((name) => name === query.get('show')) ?? 'all';
  const wanted = { kind, tag: query.get('tag') ?? '', owner: query.get('owner') ?? '' };
  const key = JSON.stringify(wanted);
  return (
    <>
      <PageTitle title={words.title} note={words.note} />
      <Card>
        <ChooseForm key={key} wanted={wanted} />
      </Card>
      <Stream key={`stream ${key}`} wanted={wanted} />
      <Own wanted={wanted} />
    </>
  );
}

function ChooseForm({ wanted }: { readonly wanted: Wanted }) {
  const [kind, setKind] = useState(wanted.kind);
  const [tag, setTag] = useState(wanted.tag);
  const [owner, setOwner] = useState(wanted.owner);
  const isWrong = tag.trim() !== '' && tagOf(tag) === undefined;
  const apply = (): void => {
    if (isWrong) return;
    const query = new URLSearchParams({
      ...(kind !== 'all' && { show: kind }),
      ...(tag.trim() !== '' && { tag: tag.trim() }),
      ...(owner.trim() !== '' && { owner: owner.trim() }),
    });
    navigate(`/explorer/events${query.size === 0 ? '' : `?${query}`}`);
  };
  const labels = {
    all: words.all,
    items: words.items,
    transactions: words.transactions,
    blocks: words.blocks,
  };
  return (
    <Form onSubmit={apply}>
      <div class="explorer-fields">
        <Select
          label={words.kinds}
          value={kind}
          onChange={setKind}
          options={kindNames.map((value) => ({ value, label: labels[value] }))}
        />
        <TextField
          label={words.tag}
          hint={words.tagHint}
          value={tag}
          onInput={setTag}
          placeholder="App-Name:my-app"
          error={isWrong ? words.tagWrong : undefined}
          maxLength={1_024}
        />
        <TextField label={words.owner} mono value={owner} onInput={setOwner} maxLength={64} />
      </div>
      <div class="actions">
        <Button kind="primary" submit>
          {words.follow}
        </Button>
      </div>
    </Form>
  );
}

function Stream({ wanted }: { readonly wanted: Wanted }) {
  const [events, setEvents] = useState<readonly ChainEvent[]>([]);
  const [isConnected, setConnected] = useState(false);
  const [hasGap, setGap] = useState(false);
  const isStill = isPaused.value;
  useEffect(() => {
    // What happens while the page stands still comes when it goes on.
    if (isStill) return undefined;
    const listen = kinds[wanted.kind];
    return followEvents(
      { ...queryOf(wanted), listen, after: events[0]?.id, last: lastRows },
      {
        onEvent: (event) => setEvents((before) => [event, ...before].slice(0, mostShown)),
        onGap: () => setGap(true),
        onState: setConnected,
      },
    );
  }, [isStill]);
  const state = isStill ? words.paused : isConnected ? words.connected : words.connecting;
  return (
    <Card
      title={words.title}
      actions={<Badge tone={isConnected && !isStill ? 'good' : 'neutral'}>{state}</Badge>}
    >
      {hasGap && <Problem error={new Error(words.missed)} />}
      <Table
        caption={words.title}
        rows={events}
        rowKey={({ id }) => id}
        empty={<Empty title={words.waiting}>{words.waitingNote}</Empty>}
        columns={[
          { id: 'when', head: words.when, cell: ({ time }) => <Time at={time} /> },
          {
            id: 'what',
            head: words.what,
            cell: ({ type }) => <Badge tone={tones[type.split('.')[1] ?? ''] ?? 'neutral'}>{type}</Badge>,
          },
          { id: 'which', head: words.which, cell: (event) => <Which event={event} /> },
          {
            id: 'height',
            head: words.height,
            align: 'end',
            cell: ({ data: { height } }) => (typeof height === 'number' ? formatCount(height) : '–'),
          },
          { id: 'more', head: words.more, wide: true, cell: ({ data }) => describe(data) },
        ]}
      />
    </Card>
  );
}

function Which({ event: { type, data } }: { readonly event: ChainEvent }) {
  const id = String(data.id ?? '');
  return <Id value={id} href={`/${type.startsWith('block.') ? 'block' : 'tx'}/${encodeURIComponent(id)}`} />;
}

/** The same events, outside of this page. */
function Own({ wanted }: { readonly wanted: Wanted }) {
  const query = queryOf(wanted);
  const filter =
    query.filter === undefined ? '' : ` --filter '${JSON.stringify(query.filter).replaceAll("'", "'\\''")}'`;
  const types = query.types === undefined ? '' : ` --types ${query.types.join(',')}`;
  return (
    <Card title={words.own}>
      <p class="soft">{words.ownNote}</p>
      <Code text={`turnpike events${types}${filter}`} />
      <Code text={`curl -N '${(eventsUrl(query) ?? '').replaceAll("'", '%27')}'`} />
    </Card>
  );
}

function queryOf({ kind, tag, owner }: Wanted) {
  const parsed = tagOf(tag);
  const conditions = [
    ...(parsed === undefined ? [] : [{ tags: [parsed] }]),
    ...(owner === '' ? [] : [{ attributes: { owner_address: owner } }]),
  ];
  const [first, second] = conditions;
  const filter = second === undefined ? first : { and: conditions };
  return { types: kind === 'all' ? undefined : kinds[kind], filter };
}

function tagOf(text: string): { name: string; value: string } | undefined {
  const [, name, value] = /^([^:]+):(.+)$/s.exec(text.trim()) ?? [];
  return name === undefined || value === undefined ? undefined : { name, value };
}

function describe({ content_type: type, data_size: size, transactions }: ChainEvent['data']): string {
  const parts = [
    typeof type === 'string' ? clampText(type, 60) : '',
    typeof size === 'number' ? formatBytes(size) : '',
    typeof transactions === 'number' ? words.transactionsIn(transactions) : '',
  ];
  return parts.filter((part) => part !== '').join(', ');
}
