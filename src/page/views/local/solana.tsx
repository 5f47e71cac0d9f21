import { LinkButton } from '../../kit/button.tsx';
import { Card } from '../../kit/card.tsx';
import { formatCount } from '../../kit/format.ts';
import { Loaded, useLoad } from '../../kit/load.tsx';
import { PageTitle } from '../../kit/page-title.tsx';
import { Empty } from '../../kit/state.tsx';
import { Table } from '../../kit/table.tsx';
import { Badge, Id, Time } from '../../kit/value.tsx';
import { readSolanaEntries } from '../../services/local.ts';
import { texts } from '../../texts.ts';
import { summaryOf } from './solana-words.ts';

const words = texts.local.solana;
const refreshMs = 4_000;

export function Solana() {
  const entries = useLoad(readSolanaEntries, [], { everyMs: refreshMs });
  return (
    <>
      <PageTitle title={words.title} note={words.note} />
      <Card>
        <Loaded of={entries}>
          {(rows) => (
            <Table
              caption={words.caption}
              rows={rows}
              rowKey={({ signature }) => signature}
              empty={
                <Empty title={words.none} action={<LinkButton href="/names">{words.noneAction}</LinkButton>}>
                  {words.noneNote}
                </Empty>
              }
              columns={[
                {
                  id: 'signature',
                  head: words.signature,
                  cell: ({ signature }) => (
                    <Id value={signature} what={words.signature} href={`/local/solana/${signature}`} />
                  ),
                },
                {
                  id: 'what',
                  head: words.what,
                  wide: true,
                  cell: ({ logs }) => <bdi>{summaryOf(logs)}</bdi>,
                },
                {
                  id: 'outcome',
                  head: words.outcome,
                  cell: ({ err }) => (
                    <Badge tone={err === null ? 'good' : 'bad'}>
                      {err === null ? words.done : words.failed}
                    </Badge>
                  ),
                },
                { id: 'slot', head: words.slot, align: 'end', cell: ({ slot }) => formatCount(slot) },
                { id: 'at', head: words.at, cell: ({ blockTime }) => <Time at={blockTime * 1_000} /> },
              ]}
            />
          )}
        </Loaded>
      </Card>
    </>
  );
}
