/** One receipt: what was stored, where it is read, and the promise itself. */
import { useEffect } from 'preact/hooks';
import { navigate } from '../../app/location.ts';
import { Button, LinkButton } from '../../kit/button.tsx';
import { Card, Columns, Fact, Facts } from '../../kit/card.tsx';
import { confirmAction } from '../../kit/dialog.tsx';
import { Json } from '../../kit/json.tsx';
import { PageTitle } from '../../kit/page-title.tsx';
import { Empty, Skeleton } from '../../kit/state.tsx';
import { Bytes, Id, Time } from '../../kit/value.tsx';
import { texts } from '../../texts.ts';
import { FileName, shownName } from './file-name.tsx';
import { Paid } from './history.tsx';
import { ItemLinks, ItemWay } from './item-links.tsx';
import { exportReceipts, forgetReceipt, type KeptReceipt, readReceipts, receipts } from './receipts.ts';

const words = texts.upload;

export function ReceiptView({ id }: { readonly id: string }) {
  useEffect(() => {
    readReceipts().catch(() => {
      receipts.value = [];
    });
  }, []);
  const found = receipts.value?.find((each) => each.id === id);
  if (receipts.value === undefined) {
    return (
      <>
        <PageTitle title={words.receipt} />
        <Skeleton lines={6} />
      </>
    );
  }
  if (found === undefined) {
    return (
      <>
        <PageTitle title={words.receipt} />
        <Empty
          title={words.receiptGone}
          action={<LinkButton href={`/tx/${encodeURIComponent(id)}`}>{words.explore}</LinkButton>}
        >
          {words.receiptGoneNote}
        </Empty>
      </>
    );
  }
  return <Receipt kept={found} />;
}

function Receipt({ kept }: { readonly kept: KeptReceipt }) {
  const { id, path, size, type, owner, at, receipt, folderFiles } = kept;
  const name = folderFiles === undefined ? shownName(path) : words.folderOf(folderFiles);
  const forget = async (): Promise<void> => {
    const isSure = await confirmAction({
      title: words.forgetTitle,
      text: words.forgetText,
      confirm: words.forget,
      danger: true,
    });
    if (!isSure) return;
    await forgetReceipt(id);
    navigate('/upload/history');
  };
  return (
    <>
      <PageTitle title={words.receiptOf(name)} note={words.receiptNote}>
        <Button onClick={() => exportReceipts([kept], `receipt-${id}.json`)}>{words.exportReceipts}</Button>
        <Button onClick={() => void forget()}>{words.forget}</Button>
      </PageTitle>
      <Card>
        <ItemLinks id={id} />
      </Card>
      <Columns>
        <Card title={words.file}>
          <Facts>
            <Fact label={words.name}>
              {folderFiles === undefined ? <FileName path={path} /> : words.folderOf(folderFiles)}
            </Fact>
            <Fact label={words.type}>
              <bdi class="foreign mono">{type}</bdi>
            </Fact>
            <Fact label={words.size}>
              <Bytes of={size} />
            </Fact>
            <Fact label={words.paid}>
              <Paid of={kept} />
            </Fact>
            <Fact label={words.by}>
              <Id value={owner} href={`/address/${encodeURIComponent(owner)}`} />
            </Fact>
            <Fact label={words.at}>
              <Time at={at} />
            </Fact>
          </Facts>
        </Card>
        <Card title={words.way}>
          <ItemWay id={id} receivedAt={at} />
        </Card>
      </Columns>
      <Card title={words.asJson}>
        <Json value={receipt} />
      </Card>
    </>
  );
}
