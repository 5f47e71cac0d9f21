import type { WaitingGift } from '../../../../formats/admin-answers.ts';
import { Card } from '../../../kit/card.tsx';
import { clampText } from '../../../kit/format.ts';
import { Loaded, useLoad } from '../../../kit/load.tsx';
import { Empty } from '../../../kit/state.tsx';
import { Table } from '../../../kit/table.tsx';
import { Amount, Time } from '../../../kit/value.tsx';
import { askPayment } from '../../../services/operator/ask.ts';
import { texts } from '../../../texts.ts';
import { everyMs } from './place.ts';

const words = texts.operator.ledger;

export function GiftsPart() {
  const gifts = useLoad(() => askPayment<{ gifts: readonly WaitingGift[] }>('GET', 'ledger/gifts'), [], {
    everyMs,
  });
  return (
    <Card title={words.gifts}>
      <Loaded of={gifts}>
        {({ gifts: rows }) => (
          <Table
            caption={words.gifts}
            rows={rows}
            rowKey={({ receiptId }) => receiptId}
            empty={<Empty title={words.giftsEmpty} />}
            columns={[
              {
                id: 'email',
                head: words.email,
                wide: true,
                cell: ({ email }) => <bdi class="foreign">{clampText(email, 200)}</bdi>,
              },
              {
                id: 'amount',
                head: words.credits,
                align: 'end',
                cell: ({ amount }) => <Amount winc={BigInt(amount)} />,
              },
              { id: 'when', head: words.when, cell: ({ createdAt }) => <Time at={createdAt} /> },
              { id: 'expires', head: words.expires, cell: ({ expiresAt }) => <Time at={expiresAt} /> },
            ]}
          />
        )}
      </Loaded>
    </Card>
  );
}
