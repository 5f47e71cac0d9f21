import type { PaymentSummary } from '../../../../formats/admin-answers.ts';
import { navigate } from '../../../app/location.ts';
import { Card } from '../../../kit/card.tsx';
import { Select } from '../../../kit/form.tsx';
import { clampText } from '../../../kit/format.ts';
import { Loaded, useLoad } from '../../../kit/load.tsx';
import { Empty } from '../../../kit/state.tsx';
import { Table } from '../../../kit/table.tsx';
import type { Tone } from '../../../kit/tone.ts';
import { Amount, Badge, Id, Time } from '../../../kit/value.tsx';
import { askPayment } from '../../../services/operator/ask.ts';
import { texts } from '../../../texts.ts';
import { amountText } from '../money.ts';
import { pageQuery } from '../page-query.ts';
import { Pager } from '../pager.tsx';
import { accountHref, everyMs, root } from './place.ts';

const words = texts.operator.ledger;

const kinds = ['all', 'card', 'chain', 'x402'] as const;
const paymentTones: Readonly<Record<string, Tone>> = {
  paid: 'good',
  credited: 'good',
  failed: 'bad',
  charged_back: 'bad',
  unclear: 'warn',
  refunded: 'warn',
};

export function PaymentsPart({ query }: { readonly query: URLSearchParams }) {
  const asked = query.get('kind');
  const kind = kinds.find((each) => each === asked) ?? 'all';
  const before = query.get('before');
  const page = useLoad(
    () =>
      askPayment<{ payments: readonly PaymentSummary[]; next: string | null }>(
        'GET',
        `payments${pageQuery({ kind: kind === 'all' ? undefined : kind, before })}`,
      ),
    [kind, before],
    { everyMs, keep: true },
  );
  return (
    <Card title={words.parts.payments}>
      <Select
        label={words.kind}
        value={kind}
        options={kinds.map((value) => ({ value, label: words.kinds[value] }))}
        onChange={(value) =>
          navigate(value === 'all' ? `${root}/payments` : `${root}/payments?kind=${value}`)
        }
      />
      <Loaded of={page}>
        {({ payments, next }) => (
          <>
            <Table
              caption={words.parts.payments}
              rows={payments}
              rowKey={({ kind: of, id }) => `${of} ${id}`}
              empty={<Empty title={words.noPayments} />}
              columns={[
                { id: 'when', head: words.when, cell: ({ createdAt }) => <Time at={createdAt} /> },
                { id: 'kind', head: words.kind, cell: (row) => words.kinds[row.kind] },
                {
                  id: 'state',
                  head: words.state,
                  cell: ({ state, open }) => (
                    <>
                      <Badge tone={paymentTones[state] ?? 'info'}>{state.replaceAll('_', ' ')}</Badge>{' '}
                      {open && <Badge tone="warn">{words.needsPerson}</Badge>}
                    </>
                  ),
                },
                { id: 'purpose', head: words.purpose, cell: ({ purpose }) => purpose },
                {
                  id: 'amount',
                  head: words.amount,
                  align: 'end',
                  cell: ({ amount, currency }) => amountText(amount, currency),
                },
                {
                  id: 'credits',
                  head: words.credits,
                  align: 'end',
                  cell: ({ winc }) => <Amount winc={BigInt(winc)} />,
                },
                {
                  id: 'wallet',
                  head: words.wallet,
                  cell: ({ address }) => <Id value={address} href={accountHref(address)} />,
                },
                {
                  id: 'reason',
                  head: words.reason,
                  wide: true,
                  cell: ({ reason }) =>
                    reason === null ? '–' : <bdi class="foreign">{clampText(reason, 200)}</bdi>,
                },
              ]}
            />
            <Pager query={query} path={`${root}/payments`} next={next} />
          </>
        )}
      </Loaded>
    </Card>
  );
}
