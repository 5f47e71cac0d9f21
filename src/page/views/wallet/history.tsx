/** What was paid in, what was spent and what is held. Only the wallet itself may see it, so that it signs once. */
import { useState } from 'preact/hooks';
import { Button, LinkButton } from '../../kit/button.tsx';
import { Card } from '../../kit/card.tsx';
import { Chart } from '../../kit/chart.tsx';
import { clampText, formatTime } from '../../kit/format.ts';
import { Loaded, useLoad } from '../../kit/load.tsx';
import { Empty } from '../../kit/state.tsx';
import { Table } from '../../kit/table.tsx';
import { Amount, Id } from '../../kit/value.tsx';
import { type PastPayment, type PastPayments, pastPaymentsPath } from '../../services/payment.ts';
import { texts } from '../../texts.ts';
import type { Wallet } from '../../wallet/wallet.ts';
import { isReadByItself, readOwn } from './own-reading.ts';
import { creditsByDay, describePayment } from './past-payments.ts';
import { Returns } from './returns.tsx';
import { Use } from './use.tsx';

const words = texts.wallet.history;
/** More than this is for the explorer of the ledger, not for a page. */
const mostPages = 20;

export function History({ of: current }: { readonly of: Wallet }) {
  const [isWanted, want] = useState(isReadByItself(current));
  return (
    <>
      {isWanted && <Use of={current} />}
      <Card title={words.title}>
        <p class="soft">{words.note}</p>
        {isWanted ? (
          <Payments of={current} />
        ) : (
          <div class="actions">
            <Button onClick={() => want(true)}>{words.show}</Button>
          </div>
        )}
      </Card>
      {isWanted && <Returns of={current} />}
    </>
  );
}

function Payments({ of: current }: { readonly of: Wallet }) {
  const [pages, setPages] = useState(1);
  const history = useLoad((signal) => readPages(current, pages, signal), [current.address, pages], {
    keep: true,
  });
  return (
    <Loaded of={history}>
      {({ payments, hasMore }) =>
        payments.length === 0 ? (
          <Empty title={words.empty} action={<LinkButton href="/wallet/top-up">{words.buy}</LinkButton>} />
        ) : (
          <>
            <Chart
              title={words.chart}
              unit=""
              kind="bars"
              series={[{ label: words.chart, points: creditsByDay(payments) }]}
            />
            <PaymentTable payments={payments} />
            {hasMore && pages < mostPages && (
              <div class="actions">
                <Button onClick={() => setPages(pages + 1)}>{words.more}</Button>
              </div>
            )}
          </>
        )
      }
    </Loaded>
  );
}

function PaymentTable({ payments }: { readonly payments: readonly PastPayment[] }) {
  return (
    <Table
      caption={words.title}
      rows={payments.map((payment, index) => ({ payment, index }))}
      rowKey={({ index }) => String(index)}
      columns={[
        { id: 'when', head: words.when, cell: ({ payment }) => formatTime(Date.parse(payment.date)) },
        { id: 'how', head: words.how, cell: ({ payment }) => describePayment(payment).how },
        {
          id: 'paid',
          head: words.paid,
          align: 'end',
          cell: ({ payment }) => <bdi>{clampText(describePayment(payment).paid, 60)}</bdi>,
        },
        {
          id: 'credits',
          head: words.credits,
          align: 'end',
          cell: ({ payment }) => <Amount winc={BigInt(payment.wincCredited)} />,
        },
        {
          id: 'reference',
          head: words.reference,
          cell: ({ payment }) => {
            const { reference } = describePayment(payment);
            return reference === undefined ? '–' : <Id value={reference} what={words.reference} />;
          },
        },
      ]}
    />
  );
}

async function readPages(current: Wallet, pages: number, signal: AbortSignal) {
  const payments: PastPayment[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < pages; page += 1) {
    const read = await readOwn<PastPayments>(current, pastPaymentsPath(cursor), signal);
    payments.push(...read.payments);
    cursor = read.cursor ?? undefined;
    if (cursor === undefined) break;
  }
  return { payments, hasMore: cursor !== undefined };
}
