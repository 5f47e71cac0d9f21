/** What needs a person: refunds, returns, unclear and failed payments, names. */
import { useState } from 'preact/hooks';
import type {
  FailedChainPayment,
  OpenMatters,
  OwedRefund,
  ReturnSummary,
  UnclearPayment,
} from '../../../../formats/admin-answers.ts';
import { Button } from '../../../kit/button.tsx';
import { Card } from '../../../kit/card.tsx';
import { confirmAction, Dialog } from '../../../kit/dialog.tsx';
import { Form, TextField } from '../../../kit/form.tsx';
import { clampText, formatCount } from '../../../kit/format.ts';
import { Loaded, useLoad } from '../../../kit/load.tsx';
import { type Column, Table } from '../../../kit/table.tsx';
import { Amount, Badge, Id, Time } from '../../../kit/value.tsx';
import { askPayment } from '../../../services/operator/ask.ts';
import { texts } from '../../../texts.ts';
import { isTransactionHash } from '../ids.ts';
import { amountText } from '../money.ts';
import { useAction } from '../use-action.ts';
import { accountHref, everyMs } from './place.ts';

const words = texts.operator.ledger;

export function OpenPart() {
  const open = useLoad(() => askPayment<OpenMatters>('GET', 'ledger/open'), [], { everyMs });
  const action = useAction();
  const [settling, setSettling] = useState<UnclearPayment | undefined>(undefined);
  const [sending, setSending] = useState<ReturnSummary | undefined>(undefined);
  const end = async (path: string, body: object, done: string): Promise<string> => {
    await askPayment('POST', path, body);
    open.again();
    return done;
  };
  const refunded = async (refund: OwedRefund): Promise<void> => {
    const amount = amountText(String(refund.amount), refund.currency);
    const question = {
      title: words.refundedTitle,
      text: words.refundedText(amount),
      confirm: words.refunded,
    };
    if (!(await confirmAction(question))) return;
    action.run(() => end('ledger/refunded', { quoteId: refund.quoteId }, words.refundedDone));
  };
  const voided = async (id: string, confirm: string): Promise<void> => {
    const question = { title: words.voidTitle, text: words.voidText, confirm, danger: true };
    if (await confirmAction(question)) action.run(() => end('ledger/void', { id }, words.voidDone));
  };
  const endReturn = (id: string, what: string, body: object, done: string): void =>
    action.run(() => end(`returns/${encodeURIComponent(id)}/${what}`, body, done));
  const refused = async ({ id }: ReturnSummary): Promise<void> => {
    const question = {
      ...{ title: words.refuseTitle, text: words.refuseText, confirm: words.refuse, danger: true },
    };
    if (!(await confirmAction(question))) return;
    endReturn(id, 'refuse', { reason: words.refuseReason }, words.refuseDone);
  };
  return (
    <Loaded of={open}>
      {({ refunds, payments, chainPayments, names, returns, cardEvents }) => (
        <>
          <Matters
            title={words.returns}
            note={words.returnsNote}
            isUrgent={returns.length > 0}
            rows={returns}
            rowKey={({ id }) => id}
            empty={words.returnsEmpty}
            columns={[
              ...returnColumns,
              {
                id: 'act',
                head: '',
                align: 'end',
                cell: (made) => (
                  <span class="actions">
                    <Button small onClick={() => setSending(made)}>
                      {words.sentIt}
                    </Button>
                    <Button
                      small
                      busy={action.busy}
                      onClick={() => endReturn(made.id, 'retry', {}, words.triesAgain)}
                    >
                      {words.tryAgain}
                    </Button>
                    <Button small kind="danger" busy={action.busy} onClick={() => void refused(made)}>
                      {words.refuse}
                    </Button>
                  </span>
                ),
              },
            ]}
          />
          <Matters
            title={words.unclear}
            note={words.unclearNote}
            isUrgent={payments.length > 0}
            rows={payments}
            rowKey={({ id }) => id}
            empty={words.unclearEmpty}
            columns={[
              ...unclearColumns,
              {
                id: 'act',
                head: '',
                align: 'end',
                cell: (payment) => (
                  <span class="actions">
                    <Button small onClick={() => setSettling(payment)}>
                      {words.settle}
                    </Button>
                    <Button
                      small
                      kind="danger"
                      busy={action.busy}
                      onClick={() => void voided(payment.id, words.void)}
                    >
                      {words.void}
                    </Button>
                  </span>
                ),
              },
            ]}
          />
          <Matters
            title={words.chainPayments}
            note={words.chainPaymentsNote}
            isUrgent={chainPayments.length > 0}
            rows={chainPayments}
            rowKey={({ id }) => id}
            empty={words.chainPaymentsEmpty}
            columns={[
              ...chainColumns,
              {
                id: 'act',
                head: '',
                align: 'end',
                cell: ({ id }) => (
                  <Button
                    small
                    kind="danger"
                    busy={action.busy}
                    onClick={() => void voided(id, words.closeIt)}
                  >
                    {words.closeIt}
                  </Button>
                ),
              },
            ]}
          />
          <Matters
            title={words.refunds}
            isUrgent={refunds.some(({ givenUp }) => givenUp)}
            rows={refunds}
            rowKey={({ quoteId }) => quoteId}
            empty={words.refundsEmpty}
            columns={[
              ...refundColumns,
              {
                id: 'act',
                head: '',
                align: 'end',
                cell: (refund) =>
                  refund.givenUp && (
                    <Button small busy={action.busy} onClick={() => void refunded(refund)}>
                      {words.refunded}
                    </Button>
                  ),
              },
            ]}
          />
          <Matters
            title={words.cardEvents}
            note={words.cardEventsNote}
            isUrgent={cardEvents.length > 0}
            rows={cardEvents}
            rowKey={({ id }) => id}
            empty={words.cardEventsEmpty}
            columns={[
              {
                id: 'type',
                head: words.cardEvent,
                cell: ({ type }) => <bdi class="foreign">{clampText(type, 60)}</bdi>,
              },
              {
                id: 'intent',
                head: words.cardIntent,
                cell: ({ intentId }) => <Id value={intentId ?? ''} />,
              },
              {
                id: 'act',
                head: '',
                align: 'end',
                cell: ({ id }) => (
                  <Button small busy={action.busy} onClick={() => void voided(id, words.cardEventEnded)}>
                    {words.cardEventEnded}
                  </Button>
                ),
              },
            ]}
          />
          <Matters
            title={words.names}
            isUrgent={false}
            rows={names}
            rowKey={({ reference }) => reference}
            empty={words.namesEmpty}
            columns={[
              {
                id: 'name',
                head: words.name,
                wide: true,
                cell: ({ name }) => <a href={`/name/${encodeURIComponent(name)}`}>{name}</a>,
              },
              {
                id: 'payer',
                head: words.payer,
                cell: ({ payer }) => <Id value={payer} href={accountHref(payer)} />,
              },
            ]}
          />
          {sending !== undefined && (
            <SettleDialog
              title={words.sentTitle}
              text={words.sentText(
                amountText(sending.amount, sending.token),
                clampText(sending.recipient, 60),
              )}
              hint={words.sentHint}
              bad={words.sentBad}
              isRight={(text) => text !== ''}
              onClose={() => setSending(undefined)}
              settle={(transaction) => {
                const { id } = sending;
                setSending(undefined);
                endReturn(id, 'settle', { transaction }, words.sentDone);
              }}
            />
          )}
          {settling !== undefined && (
            <SettleDialog
              title={words.settleTitle}
              text={words.settleText}
              hint={words.settleHint}
              bad={words.settleBad}
              isRight={isTransactionHash}
              onClose={() => setSettling(undefined)}
              settle={(transaction) => {
                const { id } = settling;
                setSettling(undefined);
                action.run(() => end('ledger/settle', { id, transaction }, words.settleDone));
              }}
            />
          )}
        </>
      )}
    </Loaded>
  );
}

interface MattersProps<T> {
  readonly title: string;
  /** Shown where there are any. */
  readonly note?: string;
  readonly isUrgent: boolean;
  readonly rows: readonly T[];
  rowKey(row: T): string;
  readonly empty: string;
  readonly columns: readonly Column<T>[];
}

/** One kind of matters that are open. */
function Matters<T>({ title, note, isUrgent, rows, rowKey, empty, columns }: MattersProps<T>) {
  return (
    <Card title={title} tone={isUrgent ? 'warn' : 'neutral'}>
      {note !== undefined && rows.length > 0 && <p class="soft">{note}</p>}
      <Table
        caption={title}
        rows={rows}
        rowKey={rowKey}
        empty={<p class="soft">{empty}</p>}
        columns={columns}
      />
    </Card>
  );
}

const unclearColumns: readonly Column<UnclearPayment>[] = [
  {
    id: 'wallet',
    head: words.wallet,
    cell: ({ address }) => <Id value={address} href={accountHref(address)} />,
  },
  { id: 'payer', head: words.payer, cell: ({ payer }) => <Id value={payer} /> },
  {
    id: 'network',
    head: words.network,
    cell: ({ network }) => <bdi class="foreign">{clampText(network, 60)}</bdi>,
  },
  { id: 'amount', head: words.amount, align: 'end', cell: ({ value }) => amountText(value, 'usdc') },
  { id: 'credits', head: words.credits, align: 'end', cell: ({ winc }) => <Amount winc={BigInt(winc)} /> },
  { id: 'since', head: words.since, cell: ({ createdAt }) => <Time at={createdAt} /> },
];

const chainColumns: readonly Column<FailedChainPayment>[] = [
  { id: 'tx', head: words.transaction, cell: ({ transactionId }) => <Id value={transactionId} /> },
  {
    id: 'reason',
    head: words.reason,
    wide: true,
    cell: ({ reason }) => <bdi class="foreign">{clampText(reason, 300)}</bdi>,
  },
  {
    id: 'amount',
    head: words.amount,
    align: 'end',
    cell: ({ quantity, token }) => amountText(quantity, token),
  },
  { id: 'payer', head: words.payer, cell: ({ sender }) => <Id value={sender} /> },
  { id: 'since', head: words.since, cell: ({ createdAt }) => <Time at={createdAt} /> },
];

const refundColumns: readonly Column<OwedRefund>[] = [
  { id: 'quote', head: words.quote, cell: ({ quoteId }) => <Id value={quoteId} /> },
  {
    id: 'wallet',
    head: words.wallet,
    wide: true,
    cell: ({ address }) => <Id value={address} href={accountHref(address)} />,
  },
  {
    id: 'amount',
    head: words.amount,
    align: 'end',
    cell: ({ amount, currency }) => amountText(String(amount), currency),
  },
  { id: 'tries', head: words.tries, align: 'end', cell: ({ tries }) => formatCount(tries) },
  {
    id: 'state',
    head: words.state,
    cell: ({ givenUp }) => (
      <Badge tone={givenUp ? 'bad' : 'info'}>{givenUp ? words.byHand : words.triedAgain}</Badge>
    ),
  },
  { id: 'since', head: words.since, cell: ({ since }) => <Time at={since} /> },
];

const returnColumns: readonly Column<ReturnSummary>[] = [
  {
    id: 'amount',
    head: words.amount,
    align: 'end',
    cell: ({ amount, token }) => amountText(amount, token),
  },
  { id: 'payer', head: words.payer, cell: ({ recipient }) => <Id value={recipient} /> },
  {
    id: 'wallet',
    head: words.wallet,
    cell: ({ address }) => <Id value={address} href={accountHref(address)} />,
  },
  { id: 'credits', head: words.credits, align: 'end', cell: ({ winc }) => <Amount winc={BigInt(winc)} /> },
  {
    id: 'reason',
    head: words.reason,
    wide: true,
    cell: ({ reason }) => <bdi class="foreign">{clampText(reason ?? '', 300)}</bdi>,
  },
  { id: 'since', head: words.since, cell: ({ createdAt }) => <Time at={createdAt} /> },
];

interface SettleDialogProps {
  readonly title: string;
  readonly text: string;
  readonly hint: string;
  readonly bad: string;
  isRight(transaction: string): boolean;
  onClose(): void;
  settle(transaction: string): void;
}

function SettleDialog({ title, text, hint, bad, isRight, onClose, settle }: SettleDialogProps) {
  const [transaction, setTransaction] = useState('');
  const [error, setError] = useState<string | undefined>(undefined);
  const submit = (): void => {
    if (isRight(transaction.trim())) settle(transaction.trim());
    else setError(bad);
  };
  return (
    <Dialog open title={title} onClose={onClose}>
      <p>{text}</p>
      <Form onSubmit={submit}>
        <TextField
          label={words.settleLabel}
          value={transaction}
          onInput={setTransaction}
          hint={hint}
          error={error}
          mono
          focused
          maxLength={128}
        />
        <div class="actions actions-end">
          <Button onClick={onClose}>{texts.kit.cancel}</Button>
          <Button submit kind="primary">
            {words.settle}
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}
