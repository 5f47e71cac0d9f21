import type { PriceChange } from '../../../../formats/admin-answers.ts';
import { Card } from '../../../kit/card.tsx';
import { clampText } from '../../../kit/format.ts';
import { Loaded, useLoad } from '../../../kit/load.tsx';
import { Empty } from '../../../kit/state.tsx';
import { Table } from '../../../kit/table.tsx';
import { Badge, Time } from '../../../kit/value.tsx';
import { askPayment } from '../../../services/operator/ask.ts';
import { texts } from '../../../texts.ts';

const words = texts.operator.ledger;

export function PricesPart() {
  const codes = useLoad(() => askPayment<{ codes: readonly PriceChange[] }>('GET', 'promo-codes'), []);
  return (
    <Card title={words.pricesTitle}>
      <Loaded of={codes}>
        {({ codes: rows }) => (
          <Table
            caption={words.pricesTitle}
            rows={rows}
            rowKey={({ kind, id }) => `${kind} ${id}`}
            empty={<Empty title={words.pricesEmpty} />}
            columns={[
              { id: 'code', head: words.code, cell: ({ code }) => <bdi class="foreign">{code ?? '–'}</bdi> },
              {
                id: 'name',
                head: words.name,
                wide: true,
                cell: ({ name }) => <bdi class="foreign">{clampText(name, 120)}</bdi>,
              },
              { id: 'kind', head: words.kind, cell: ({ kind }) => kind },
              {
                id: 'effect',
                head: words.effect,
                cell: ({ operator, magnitude }) =>
                  operator === 'multiply' ? words.times(magnitude) : words.plus(magnitude),
              },
              {
                id: 'state',
                head: words.state,
                cell: ({ active }) => (
                  <Badge tone={active ? 'good' : 'neutral'}>{active ? words.active : words.inactive}</Badge>
                ),
              },
              {
                id: 'uses',
                head: words.uses,
                align: 'end',
                cell: ({ uses, maxUses }) => words.usesOf(uses, maxUses),
              },
              {
                id: 'ends',
                head: words.ends,
                cell: ({ endsAt }) => (endsAt === null ? texts.operator.never : <Time at={endsAt} />),
              },
            ]}
          />
        )}
      </Loaded>
    </Card>
  );
}
