/** Credits that are lent, given and received. */
import type { ComponentChildren } from 'preact';
import type { Approval } from '../../../formats/approval.ts';
import { Table } from '../../kit/table.tsx';
import { Amount, Id, Time } from '../../kit/value.tsx';
import { texts } from '../../texts.ts';

interface Props {
  readonly caption: string;
  readonly approvals: readonly Approval[];
  /** Which of the two wallets is shown. */
  readonly show: 'payer' | 'user';
  readonly action?: ((approval: Approval) => ComponentChildren) | undefined;
  readonly empty?: ComponentChildren;
}

export function ApprovalTable({ caption, approvals, show, action, empty }: Props) {
  const words = texts.wallet.approvals;
  const addressOf = ({ payingAddress, approvedAddress }: Approval): string =>
    show === 'payer' ? payingAddress : approvedAddress;
  return (
    <Table
      caption={caption}
      rows={approvals}
      rowKey={({ approvalDataItemId }) => approvalDataItemId}
      empty={empty}
      columns={[
        {
          id: 'who',
          head: show === 'payer' ? words.from : words.to,
          wide: true,
          cell: (row) => (
            <Id value={addressOf(row)} href={`/address/${encodeURIComponent(addressOf(row))}`} />
          ),
        },
        {
          id: 'amount',
          head: words.amount,
          align: 'end',
          cell: ({ approvedWincAmount }) => <Amount winc={BigInt(approvedWincAmount)} />,
        },
        {
          id: 'used',
          head: words.used,
          align: 'end',
          cell: ({ usedWincAmount }) => <Amount winc={BigInt(usedWincAmount)} />,
        },
        {
          id: 'made',
          head: words.made,
          cell: ({ creationDate }) => <Time at={Date.parse(creationDate)} />,
        },
        {
          id: 'expires',
          head: words.expires,
          cell: ({ expirationDate }) =>
            expirationDate === undefined || expirationDate === null ? (
              <span class="soft">{words.never}</span>
            ) : (
              <Time at={Date.parse(expirationDate)} />
            ),
        },
        ...(action === undefined ? [] : [{ id: 'action', head: '', align: 'end' as const, cell: action }]),
      ]}
    />
  );
}
