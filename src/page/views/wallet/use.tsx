/** What the wallet spent by day, and what is held for what is not finished. */
import { Card } from '../../kit/card.tsx';
import { Chart } from '../../kit/chart.tsx';
import { formatCredits } from '../../kit/format.ts';
import { Loaded, useLoad } from '../../kit/load.tsx';
import { Table } from '../../kit/table.tsx';
import { Amount, Id, Time } from '../../kit/value.tsx';
import { type DailySpending, type Holds, holdsPath, spendingPath } from '../../services/payment.ts';
import { texts } from '../../texts.ts';
import type { Wallet } from '../../wallet/wallet.ts';
import { readOwn } from './own-reading.ts';

const words = texts.wallet.use;
const dayMs = 86_400_000;
const shownDays = 30;

export function Use({ of: current }: { readonly of: Wallet }) {
  const use = useLoad(
    async (signal) => ({
      spending: await readOwn<DailySpending>(current, spendingPath, signal),
      held: await readOwn<Holds>(current, holdsPath, signal),
    }),
    [current.address],
  );
  return (
    <Loaded of={use}>
      {({ spending, held }) => (
        <>
          {held.count > 0 && <Held of={held} />}
          <Spent of={spending} />
        </>
      )}
    </Loaded>
  );
}

function Held({ of: { holds, count } }: { readonly of: Holds }) {
  return (
    <Card title={words.held}>
      <p class="soft">{words.heldNote}</p>
      <Table
        caption={words.held}
        rows={holds}
        rowKey={({ id, reason }) => `${reason} ${id}`}
        columns={[
          { id: 'what', head: words.what, cell: ({ reason }) => words.reasons[reason] ?? reason },
          { id: 'id', head: words.id, wide: true, cell: ({ id }) => <Id value={id} /> },
          {
            id: 'winc',
            head: words.credits,
            align: 'end',
            cell: ({ winc }) => <Amount winc={BigInt(winc)} />,
          },
          { id: 'since', head: words.since, cell: ({ since }) => <Time at={Date.parse(since)} /> },
        ]}
      />
      {count > holds.length && <p class="soft">{words.more(count - holds.length)}</p>}
    </Card>
  );
}

function Spent({ of: { days, complete } }: { readonly of: DailySpending }) {
  const total = days.reduce((sum, { winc }) => sum + BigInt(winc), 0n);
  return (
    <Card title={words.spent}>
      <p class="soft">{days.length === 0 ? words.nothingSpent : words.inAll(formatCredits(total))}</p>
      {days.length > 0 && (
        <>
          <Chart
            title={words.chart}
            unit=""
            kind="bars"
            series={[{ label: words.chart, points: pointsOf(days) }]}
          />
          <Table
            caption={words.spent}
            rows={days}
            rowKey={({ date }) => date}
            columns={[
              { id: 'date', head: words.day, cell: ({ date }) => date },
              column('uploads', words.uploads),
              column('names', words.names),
              column('byOthers', words.byOthers),
              column('winc', words.credits),
            ]}
          />
        </>
      )}
      {!complete && <p class="soft">{words.notComplete}</p>}
    </Card>
  );
}

type Day = DailySpending['days'][number];

const column = (id: 'uploads' | 'names' | 'byOthers' | 'winc', head: string) => ({
  id,
  head,
  align: 'end' as const,
  cell: (day: Day) => (day[id] === '0' ? '–' : <Amount winc={BigInt(day[id])} />),
});

/** Every day up to today, also those on which nothing was spent. */
function pointsOf(days: readonly Day[]): [number, number][] {
  const spent = new Map(days.map(({ date, winc }) => [Date.parse(date), Number(winc) / 1e12]));
  const today = Math.floor(Date.now() / dayMs) * dayMs;
  return Array.from({ length: shownDays }, (_, place) => {
    const day = today - (shownDays - 1 - place) * dayMs;
    return [day, spent.get(day) ?? 0];
  });
}
