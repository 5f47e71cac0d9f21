/** How far the gateway has read the chain, what it could not read, and what it is to read next. */
import { useState } from 'preact/hooks';
import type { BundleStatus, GatewayDebug, QueuedBundle } from '../../../formats/gateway-admin-answers.ts';
import { navigate } from '../../app/location.ts';
import { Button } from '../../kit/button.tsx';
import { Card, Columns, Fact, Facts, Figure, Figures } from '../../kit/card.tsx';
import { Form, Select, TextField } from '../../kit/form.tsx';
import { clampText, formatCount } from '../../kit/format.ts';
import { Json } from '../../kit/json.tsx';
import { Loaded, useLoad } from '../../kit/load.tsx';
import { Table } from '../../kit/table.tsx';
import { Badge, Id, Time } from '../../kit/value.tsx';
import { askGateway } from '../../services/operator/ask.ts';
import { texts } from '../../texts.ts';
import { CompletenessCard } from './completeness.tsx';
import { FindForm } from './find-form.tsx';
import { isId } from './ids.ts';
import { Problems } from './problems.tsx';
import { type Action, useAction } from './use-action.ts';

const words = texts.operator.import;
const { unknown } = texts.operator;
const everyMs = 5_000;

export function ImportPage({ query }: { readonly query: URLSearchParams }) {
  const debug = useLoad(() => askGateway<GatewayDebug>('GET', 'debug'), [], { everyMs });
  const failed = useLoad(() => bundlesOf('failed'), [], { everyMs });
  const queued = useLoad(() => bundlesOf('queued'), [], { everyMs });
  const action = useAction();
  const queue = (id: string): void =>
    action.run(async () => {
      await askGateway('POST', 'queue-bundle', { id });
      failed.again();
      queued.again();
      return words.queued;
    });
  const bundle = query.get('bundle') ?? undefined;
  return (
    <>
      <Loaded of={debug}>{(value) => <State debug={value} />}</Loaded>
      <CompletenessCard />
      <Card title={words.stuckTitle}>
        <Loaded of={failed}>
          {(rows) => (
            <BundleTable
              caption={words.stuckTitle}
              rows={rows}
              empty={words.stuckEmpty}
              action={action}
              queue={queue}
            />
          )}
        </Loaded>
      </Card>
      <Card title={words.waitingTitle}>
        <Loaded of={queued}>
          {(rows) => (
            <BundleTable
              caption={words.waitingTitle}
              rows={rows}
              empty={words.waitingEmpty}
              action={action}
              queue={queue}
            />
          )}
        </Loaded>
      </Card>
      <Columns>
        <Card title={words.lookUp}>
          <FindForm
            key={bundle}
            label={words.bundleId}
            button={words.show}
            hint={words.idHint}
            start={bundle ?? ''}
            refusal={(id) => (isId(id) ? undefined : words.badId)}
            onFind={(id) => navigate(`/operator/import?bundle=${id}`)}
          />
          {bundle !== undefined && isId(bundle) && <Status id={bundle} />}
        </Card>
        <QueueForm />
      </Columns>
      <Loaded of={debug}>{(value) => <Details debug={value} />}</Loaded>
    </>
  );
}

async function bundlesOf(state: QueuedBundle['state']): Promise<readonly QueuedBundle[]> {
  const { bundles } = await askGateway<{ bundles: readonly QueuedBundle[] }>('GET', `bundles?state=${state}`);
  return bundles;
}

function State({ debug: { db, chain, queues } }: { readonly debug: GatewayDebug }) {
  const problems = [...db.errors, ...db.warnings];
  return (
    <>
      <Figures>
        <Figure label={words.height} value={formatCount(chain.height)} href={`/block/${chain.height}`} />
        <Figure
          label={words.stable}
          value={chain.stableHeight < 0 ? words.noneStable : formatCount(chain.stableHeight)}
        />
        <Figure
          label={words.behind}
          value={formatCount(chain.behind)}
          tone={chain.behind > 10 ? 'warn' : 'good'}
          note={chain.behind === 0 ? words.caughtUp : undefined}
        />
        <Figure label={words.waiting} value={formatCount(queues.bundles)} />
        <Figure label={words.asked} value={formatCount(queues.askedTransactions)} />
        <Figure label={words.missing} value={formatCount(queues.missingTransactions)} />
      </Figures>
      {problems.length > 0 && (
        <Card title={words.problems} tone="bad">
          <Problems problems={problems} />
        </Card>
      )}
    </>
  );
}

interface BundleTableProps {
  readonly caption: string;
  readonly rows: readonly QueuedBundle[];
  readonly empty: string;
  readonly action: Action;
  queue(id: string): void;
}

function BundleTable({ caption, rows, empty, action, queue }: BundleTableProps) {
  return (
    <Table
      caption={caption}
      rows={rows}
      rowKey={({ id }) => id}
      empty={<p class="soft">{empty}</p>}
      columns={[
        { id: 'id', head: words.bundle, cell: ({ id }) => <Id value={id} href={`/tx/${id}`} /> },
        {
          id: 'why',
          head: words.why,
          wide: true,
          cell: ({ lastError }) =>
            lastError === null ? (
              <span class="soft">{words.firstTry}</span>
            ) : (
              <bdi class="foreign">{clampText(lastError, 300)}</bdi>
            ),
        },
        {
          id: 'tries',
          head: words.tries,
          align: 'end',
          cell: ({ retryAttemptCount }) => formatCount(retryAttemptCount),
        },
        {
          id: 'next',
          head: words.nextTry,
          cell: ({ state, nextTryAt }) => (state === 'failed' ? '–' : <Time at={nextTryAt * 1000} />),
        },
        {
          id: 'act',
          head: '',
          align: 'end',
          cell: ({ id }) => (
            <Button small busy={action.busy} onClick={() => queue(id)}>
              {words.again}
            </Button>
          ),
        },
      ]}
    />
  );
}

function Status({ id }: { readonly id: string }) {
  const status = useLoad(() => askGateway<BundleStatus>('GET', `bundle-status/${id}`), [id], { everyMs });
  return (
    <Loaded of={status}>
      {(found) => (
        <Facts>
          <Fact label={words.bundle}>
            <Id value={found.id} href={`/tx/${found.id}`} />
          </Fact>
          <Fact label={words.state}>
            <Badge tone={toneOf(found.state)}>{words.states[found.state] ?? found.state}</Badge>
          </Fact>
          {found.lastError !== null && (
            <Fact label={words.why}>
              <bdi class="foreign">{clampText(found.lastError, 500)}</bdi>
            </Fact>
          )}
          {found.remark !== null && (
            <Fact label={words.remark}>
              <bdi class="foreign">{clampText(found.remark, 500)}</bdi>
            </Fact>
          )}
          <Fact label={words.root}>
            <Id value={found.rootTransactionId} href={`/tx/${found.rootTransactionId}`} />
          </Fact>
          <Fact label={words.items}>{countOf(found.dataItemCount)}</Fact>
          <Fact label={words.matched}>{countOf(found.matchedDataItemCount)}</Fact>
          <Fact label={words.duplicated}>{countOf(found.duplicatedDataItemCount)}</Fact>
          <Fact label={words.invalid}>{countOf(found.invalidDataItemCount)}</Fact>
          <Fact label={words.pruned}>{countOf(found.prunedDataItemCount)}</Fact>
          <Fact label={words.tries}>{formatCount(found.retryAttemptCount)}</Fact>
          <Fact label={words.lastQueued}>{secondsOf(found.lastQueuedAt)}</Fact>
          <Fact label={words.lastRead}>{secondsOf(found.lastUnbundledAt)}</Fact>
        </Facts>
      )}
    </Loaded>
  );
}

const toneOf = (state: string) => (state === 'failed' ? 'bad' : state === 'unbundled' ? 'good' : 'info');
const countOf = (count: number | null) => (count === null ? unknown : formatCount(count));
const secondsOf = (at: number | null) => (at === null ? texts.operator.never : <Time at={at * 1000} />);

type QueueKind = keyof typeof words.queueKinds;

function QueueForm() {
  const [id, setId] = useState('');
  const [kind, setKind] = useState<QueueKind>('tx');
  const [error, setError] = useState<string | undefined>(undefined);
  const action = useAction();
  const submit = (): void => {
    const sought = id.trim();
    if (!isId(sought)) {
      setError(words.badId);
      return;
    }
    setError(undefined);
    action.run(async () => {
      if (kind === 'tx') await askGateway('POST', 'queue-tx', { id: sought });
      else await askGateway('POST', 'queue-bundle', { id: sought, bypassFilter: kind === 'bundle' });
      setId('');
      return words.queued;
    });
  };
  return (
    <Card title={words.queueTitle}>
      <Form onSubmit={submit} busy={action.busy}>
        <TextField
          label={words.queueId}
          value={id}
          onInput={setId}
          hint={words.idHint}
          error={error}
          mono
          maxLength={200}
        />
        <Select
          label={words.queueWhat}
          value={kind}
          onChange={setKind}
          options={(['tx', 'bundle', 'filtered'] as const).map((value) => ({
            value,
            label: words.queueKinds[value],
          }))}
        />
        <div class="actions">
          <Button submit kind="primary" busy={action.busy}>
            {words.queue}
          </Button>
        </div>
      </Form>
    </Card>
  );
}

function Details({ debug: { db, chain, config } }: { readonly debug: GatewayDebug }) {
  return (
    <Columns>
      <Card title={words.nodes}>
        <Table
          caption={words.nodes}
          rows={chain.nodes}
          rowKey={({ url }) => url}
          columns={[
            {
              id: 'url',
              head: words.node,
              wide: true,
              cell: ({ url }) => <bdi class="foreign">{clampText(url, 120)}</bdi>,
            },
            {
              id: 'state',
              head: words.nodeState,
              cell: ({ healthy }) => (
                <Badge tone={healthy ? 'good' : 'bad'}>{healthy ? words.answers : words.silent}</Badge>
              ),
            },
            { id: 'height', head: words.nodeHeight, align: 'end', cell: ({ height }) => formatCount(height) },
          ]}
        />
      </Card>
      <Card title={words.counts}>
        <Facts>
          {Object.entries(words.countNames).map(([name, label]) => (
            <Fact key={name} label={label}>
              {countOf(db.counts[name] ?? null)}
            </Fact>
          ))}
        </Facts>
      </Card>
      <Card title={words.filters}>
        <h3>{words.unbundleFilter}</h3>
        <Json value={filterOf(config.unbundleFilter)} />
        <h3>{words.indexFilter}</h3>
        <Json value={filterOf(config.indexFilter)} />
      </Card>
    </Columns>
  );
}

/** The setting's text, as what it says. */
function filterOf(text: unknown): unknown {
  try {
    return typeof text === 'string' ? JSON.parse(text) : text;
  } catch {
    return text;
  }
}
