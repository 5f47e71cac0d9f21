/** Checks a receipt that somebody has: is it signed, by this service, and was it kept? */
import { useEffect, useState } from 'preact/hooks';
import { Button, LinkButton } from '../../kit/button.tsx';
import { Card, Fact, Facts } from '../../kit/card.tsx';
import { Form, TextArea } from '../../kit/form.tsx';
import { formatTime } from '../../kit/format.ts';
import { PageTitle } from '../../kit/page-title.tsx';
import { Badge, Id } from '../../kit/value.tsx';
import { findNode, readHeight, readStatus } from '../../services/gateway.ts';
import { findItemStatus, keptReceipt, readReceiptKey } from '../../services/item-state.ts';
import { texts } from '../../texts.ts';
import { type Receipt, readReceipt } from './proof/receipt.ts';

interface Checked {
  readonly receipt: Receipt;
  readonly isSigned: boolean;
  /** undefined where the service does not tell its key. */
  readonly isOurs: boolean | undefined;
  readonly height: number;
  readonly minedAt: number | undefined;
}

/** `id`: of an item whose receipt this browser keeps. */
export function ReceiptPage({ id }: { readonly id: string | undefined }) {
  const words = texts.explorer.receipt;
  const [text, setText] = useState('');
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<string | undefined>(undefined);
  const [checked, setChecked] = useState<Checked | undefined>(undefined);
  useEffect(() => {
    if (id === undefined) return;
    keptReceipt(id).then(
      (kept) => kept !== undefined && setText(JSON.stringify(kept, null, 2)),
      // Browsers may keep nothing: it can be pasted.
      () => {},
    );
  }, [id]);
  const check = async () => {
    setChecked(undefined);
    setError(undefined);
    const receipt = readReceipt(text);
    if (receipt === undefined) return setError(words.none);
    setBusy(true);
    try {
      setChecked(await checkReceipt(receipt));
    } catch (thrown) {
      setError(thrown instanceof Error ? thrown.message : String(thrown));
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <PageTitle title={words.title} note={words.note} />
      <Card>
        <Form onSubmit={check} busy={isBusy} error={error}>
          <TextArea label={words.field} hint={words.hint} value={text} onInput={setText} rows={8} mono />
          <div class="actions">
            <Button kind="primary" submit busy={isBusy}>
              {words.check}
            </Button>
          </div>
        </Form>
      </Card>
      <div role="status">{checked !== undefined && <Verdict checked={checked} />}</div>
    </>
  );
}

async function checkReceipt(receipt: Receipt): Promise<Checked> {
  const [isSigned, key, height, node] = await Promise.all([
    import('./proof/receipt-signature.ts').then(({ isReceiptSigned }) => isReceiptSigned(receipt)),
    readReceiptKey().catch(() => undefined),
    readHeight(),
    findNode(receipt.id),
  ]);
  const bundle = node?.block == null ? (await findItemStatus(receipt.id))?.bundleId : undefined;
  const minedAt =
    node?.block?.height ?? (bundle === undefined ? undefined : (await readStatus(bundle))?.height);
  return { receipt, isSigned, isOurs: key === undefined ? undefined : key === receipt.key, height, minedAt };
}

function Verdict({ checked: { receipt, isSigned, isOurs, height, minedAt } }: { readonly checked: Checked }) {
  const words = texts.explorer.receipt;
  const { id, deadlineHeight, timestamp } = receipt;
  const promise =
    minedAt !== undefined
      ? minedAt <= deadlineHeight
        ? ({ tone: 'good', text: words.kept(String(minedAt)) } as const)
        : ({ tone: 'bad', text: words.late(String(minedAt)) } as const)
      : height > deadlineHeight
        ? ({ tone: 'bad', text: words.broken } as const)
        : ({ tone: 'info', text: words.open(String(deadlineHeight - height)) } as const);
  return (
    <Card title={words.verdict} tone={isSigned && isOurs !== false ? 'good' : 'bad'}>
      <Facts>
        <Fact label={words.signature}>
          <Badge tone={isSigned ? 'good' : 'bad'}>{isSigned ? words.signed : words.notSigned}</Badge>
        </Fact>
        <Fact label={words.service}>
          <Badge tone={isOurs === undefined ? 'warn' : isOurs ? 'good' : 'bad'}>
            {isOurs === undefined ? words.keyUnknown : isOurs ? words.ours : words.notOurs}
          </Badge>
        </Fact>
        <Fact label={words.promise}>
          <Badge tone={promise.tone}>{promise.text}</Badge>
        </Fact>
        <Fact label={words.deadline}>{words.deadlineOf(String(deadlineHeight), String(height))}</Fact>
        <Fact label={words.given}>{formatTime(timestamp)}</Fact>
        <Fact label={words.item}>
          <Id value={id} href={`/tx/${id}`} />
        </Fact>
      </Facts>
      <div class="actions">
        <LinkButton href={`/tx/${id}`}>{words.openItem}</LinkButton>
      </div>
    </Card>
  );
}
