/** What was uploaded in this browser, with how far each is. */
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { Button, LinkButton } from '../../kit/button.tsx';
import { Card } from '../../kit/card.tsx';
import { Empty, Skeleton } from '../../kit/state.tsx';
import { type Column, Table } from '../../kit/table.tsx';
import { Amount, Badge, Bytes, Id, Time } from '../../kit/value.tsx';
import type { ItemStatus } from '../../services/upload.ts';
import { texts } from '../../texts.ts';
import { FileName } from './file-name.tsx';
import { followManyEveryMs, useStatus } from './item-links.tsx';
import {
  exportReceipts,
  isLast,
  type KeptReceipt,
  keepLastStatus,
  readReceipts,
  receipts,
} from './receipts.ts';

const words = texts.upload;
const pageRows = 25;

const columns: readonly Column<KeptReceipt>[] = [
  {
    id: 'name',
    head: words.name,
    wide: true,
    cell: ({ id, path, folderFiles }) => (
      <a href={`/upload/history/${id}`}>
        {folderFiles === undefined ? <FileName path={path} /> : words.folderOf(folderFiles)}
      </a>
    ),
  },
  { id: 'state', head: words.state, cell: (kept) => <Status of={kept} /> },
  { id: 'at', head: words.at, cell: ({ at }) => <Time at={at} /> },
  { id: 'size', head: words.size, align: 'end', cell: ({ size }) => <Bytes of={size} /> },
  { id: 'paid', head: words.paid, align: 'end', cell: (kept) => <Paid of={kept} /> },
  { id: 'id', head: words.id, cell: ({ id }) => <Id value={id} href={`/tx/${id}`} /> },
];

export function HistoryView() {
  const shown = useSignal(pageRows);
  useEffect(() => {
    readReceipts().catch(() => {
      receipts.value = [];
    });
  }, []);
  const list = receipts.value;
  if (list === undefined) return <Skeleton lines={6} />;
  if (list.length === 0) {
    return (
      <Empty
        title={words.noHistory}
        action={
          <LinkButton href="/upload" kind="primary">
            {words.commands.upload}
          </LinkButton>
        }
      >
        {words.noHistoryNote}
      </Empty>
    );
  }
  const left = list.length - shown.value;
  return (
    <Card
      title={words.files(list.filter(({ folderFiles }) => folderFiles === undefined).length)}
      actions={<Button onClick={() => exportReceipts(list, 'receipts.json')}>{words.exportReceipts}</Button>}
    >
      <Table
        caption={words.historyCaption}
        columns={columns}
        rows={list.slice(0, shown.value)}
        rowKey={({ id }) => id}
      />
      {left > 0 && (
        <Button
          onClick={() => {
            shown.value += pageRows;
          }}
        >
          {words.showMore(Math.min(left, pageRows))}
        </Button>
      )}
    </Card>
  );
}

export function Paid({ of }: { readonly of: KeptReceipt }) {
  const { winc } = of.receipt;
  if (typeof winc !== 'string' || !/^\d{1,40}$/.test(winc)) return <>–</>;
  return winc === '0' ? <Badge tone="good">{words.free}</Badge> : <Amount winc={BigInt(winc)} />;
}

function Status({ of }: { readonly of: KeptReceipt }) {
  const { value } = useStatus(of.id, of.lastStatus, followManyEveryMs);
  useEffect(() => {
    if (value !== undefined && of.lastStatus === undefined && isLast(value)) {
      keepLastStatus(of, value).catch(() => {});
    }
  }, [value]);
  return <StatusBadge status={value} />;
}

function StatusBadge({ status }: { readonly status: ItemStatus | undefined }) {
  const { steps } = words;
  if (status === undefined) return <span class="soft">{words.statusUnknown}</span>;
  if (status.status === 'FINALIZED') return <Badge tone="good">{steps.permanent}</Badge>;
  if (status.status === 'FAILED') return <Badge tone="bad">{steps.failed}</Badge>;
  return <Badge tone="info">{status.bundleId === undefined ? steps.received : steps.bundled}</Badge>;
}
