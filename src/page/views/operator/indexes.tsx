/** Index files that are published here, and those of others that are used. */

import type { IndexesState } from '../../../formats/gateway-admin-answers.ts';
import { Card, Fact, Facts } from '../../kit/card.tsx';
import { clampText, formatBytes, formatCount } from '../../kit/format.ts';
import { Loaded, useLoad } from '../../kit/load.tsx';
import { Empty } from '../../kit/state.tsx';
import { Table } from '../../kit/table.tsx';
import { Badge, Id, Time } from '../../kit/value.tsx';
import { askGateway } from '../../services/operator/ask.ts';
import { texts } from '../../texts.ts';
import { Problems } from './problems.tsx';

const words = texts.operator.indexes;

export function IndexesPage() {
  const state = useLoad(() => askGateway<IndexesState>('GET', 'indexes'), [], { everyMs: 10_000 });
  return (
    <Loaded of={state}>
      {({ publication, isDamaged, problems, subscriptions, bandsInUse }) => (
        <>
          <Card title={words.published} tone={isDamaged || problems.length > 0 ? 'bad' : 'neutral'}>
            {isDamaged && <p>{words.damaged}</p>}
            {problems.length > 0 && <Problems problems={problems} />}
            {publication === null ? (
              <Empty title={words.nothing}>{words.nothingNote}</Empty>
            ) : (
              <Publication of={publication} />
            )}
          </Card>
          <Card title={words.followed}>
            <Facts>
              <Fact label={words.inUse}>{formatCount(bandsInUse)}</Fact>
            </Facts>
            <Subscriptions rows={subscriptions} />
          </Card>
        </>
      )}
    </Loaded>
  );
}

function Publication({ of }: { readonly of: NonNullable<IndexesState['publication']> }) {
  return (
    <>
      <Facts>
        <Fact label={words.publisher}>
          <Id value={of.publisher} />
        </Fact>
        <Fact label={words.sequence}>{formatCount(of.sequence)}</Fact>
        <Fact label={words.issued}>
          <Time at={new Date(of.issuedAt)} />
        </Fact>
        <Fact label={words.expires}>
          <Time at={new Date(of.expiresAt)} />
        </Fact>
      </Facts>
      <Table
        caption={words.published}
        rows={of.indexes}
        rowKey={({ name }) => name}
        columns={[
          { id: 'name', head: words.name, wide: true, cell: ({ name, kind }) => `${name} (${kind})` },
          { id: 'bands', head: words.bands, align: 'end', cell: ({ bands }) => formatCount(bands) },
          { id: 'records', head: words.records, align: 'end', cell: ({ records }) => formatCount(records) },
          { id: 'files', head: words.files, align: 'end', cell: ({ files }) => formatCount(files) },
          { id: 'bytes', head: words.bytes, align: 'end', cell: ({ bytes }) => formatBytes(bytes) },
          {
            id: 'heights',
            head: words.heights,
            cell: ({ heights }) =>
              heights === null
                ? '–'
                : `${formatCount(heights[0])} – ${heights[1] === null ? words.open : formatCount(heights[1])}`,
          },
        ]}
      />
    </>
  );
}

const goodOutcomes = ['installed', 'unchanged', 'busy'];

function Subscriptions({ rows }: { readonly rows: IndexesState['subscriptions'] }) {
  return (
    <Table
      caption={words.followed}
      rows={rows}
      rowKey={({ publisher }) => publisher}
      empty={<Empty title={words.notFollowing}>{words.notFollowingNote}</Empty>}
      columns={[
        { id: 'publisher', head: words.publisher, cell: ({ publisher }) => <Id value={publisher} /> },
        {
          id: 'url',
          head: texts.operator.overview.address,
          wide: true,
          cell: ({ url }) => <bdi class="foreign">{clampText(url, 120)}</bdi>,
        },
        {
          id: 'only',
          head: words.only,
          cell: ({ names }) => (names === null ? words.everything : clampText(names.join(', '), 120)),
        },
        {
          id: 'looked',
          head: words.looked,
          cell: ({ lastLookAt }) => (lastLookAt === null ? words.notYet : <Time at={lastLookAt} />),
        },
        {
          id: 'outcome',
          head: words.outcome,
          cell: ({ outcome, reason }) =>
            outcome === null ? (
              '–'
            ) : (
              <>
                <Badge tone={goodOutcomes.includes(outcome) ? 'good' : 'bad'}>
                  {outcome.replaceAll('_', ' ')}
                </Badge>{' '}
                {reason !== null && <bdi class="foreign">{clampText(reason, 200)}</bdi>}
              </>
            ),
        },
      ]}
    />
  );
}
