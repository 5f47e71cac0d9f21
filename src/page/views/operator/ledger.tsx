/** The books: whether they are right, what needs a person, and what a person may change in them. */
import { useState } from 'preact/hooks';
import type {
  FailedChainPayment,
  GivenCredits,
  LedgerAccount,
  LedgerCheckState,
  LedgerEntry,
  LedgerLosses,
  OpenMatters,
  OwedRefund,
  PaymentSummary,
  PriceChange,
  UnclearPayment,
  WaitingGift,
} from '../../../formats/admin-answers.ts';
import { navigate } from '../../app/location.ts';
import { Button } from '../../kit/button.tsx';
import { Card, Columns, Fact, Facts } from '../../kit/card.tsx';
import { confirmAction, Dialog } from '../../kit/dialog.tsx';
import { Form, NumberField, Select, TextField } from '../../kit/form.tsx';
import { clampText, formatCount, formatCredits, formatDuration } from '../../kit/format.ts';
import { Loaded, useLoad } from '../../kit/load.tsx';
import { Empty } from '../../kit/state.tsx';
import { type Column, Table } from '../../kit/table.tsx';
import { Tabs } from '../../kit/tabs.tsx';
import type { Tone } from '../../kit/tone.ts';
import { Amount, Badge, Id, Time } from '../../kit/value.tsx';
import { askPayment } from '../../services/operator/ask.ts';
import { texts } from '../../texts.ts';
import { FindForm } from './find-form.tsx';
import { isPositiveDecimal, isTransactionHash } from './ids.ts';
import { amountText } from './money.ts';
import { pageQuery } from './page-query.ts';
import { Pager } from './pager.tsx';
import { useAction } from './use-action.ts';

const words = texts.operator.ledger;
const root = '/operator/ledger';
const everyMs = 10_000;

interface Props {
  /** After `/operator/ledger`. */
  readonly path: readonly string[];
  readonly query: URLSearchParams;
}

const parts = ['open', 'payments', 'accounts', 'gifts', 'losses', 'prices'] as const;

export function LedgerPage({ path: [asked, address], query }: Props) {
  const part = parts.find((each) => each === asked) ?? 'open';
  return (
    <>
      <Check />
      <Tabs
        label={words.partsLabel}
        current={part}
        tabs={parts.map((id) => ({
          id,
          label: words.parts[id],
          href: id === 'open' ? root : `${root}/${id}`,
        }))}
      />
      {part === 'open' && <OpenPart />}
      {part === 'payments' && <PaymentsPart query={query} />}
      {part === 'accounts' && <AccountsPart address={address} query={query} />}
      {part === 'gifts' && <GiftsPart />}
      {part === 'losses' && <LossesPart query={query} />}
      {part === 'prices' && <PricesPart />}
    </>
  );
}

function Check() {
  const state = useLoad(() => askPayment<LedgerCheckState>('GET', 'ledger/check'), [], { everyMs: 3_000 });
  const action = useAction();
  const check = (): void =>
    action.run(async () => {
      await askPayment('POST', 'ledger/check');
      state.again();
      return undefined;
    });
  return (
    <Card
      title={words.check}
      tone={state.value?.last?.ok === false ? 'bad' : 'neutral'}
      actions={
        <Button onClick={check} busy={action.busy || state.value?.running === true}>
          {action.busy || state.value?.running === true ? words.checking : words.checkNow}
        </Button>
      }
    >
      <p class="soft">{words.checkNote}</p>
      <Loaded of={state}>
        {({ last }) =>
          last === null ? (
            <p>{words.neverChecked}</p>
          ) : (
            <>
              <Facts>
                <Fact label={words.state}>
                  <Badge tone={last.ok ? 'good' : 'bad'}>{last.ok ? words.right : words.wrong}</Badge>
                </Fact>
                <Fact label={words.checkedAt}>
                  <Time at={last.at} /> ({formatDuration(last.tookMs)})
                </Fact>
                <Fact label={words.accounts}>{formatCount(last.accounts)}</Fact>
                <Fact label={words.entries}>{formatCount(last.entries)}</Fact>
                <Fact label={words.spendings}>{formatCount(last.spendings)}</Fact>
                <Fact label={words.drift}>
                  <Amount winc={BigInt(last.drift)} />
                </Fact>
                <Fact label={words.losses}>
                  <Amount winc={BigInt(last.losses)} />
                </Fact>
              </Facts>
              {last.problems.length > 0 && (
                <ul>
                  {last.problems.map((problem) => (
                    <li key={problem}>
                      <bdi class="foreign">{clampText(problem, 500)}</bdi>
                    </li>
                  ))}
                </ul>
              )}
            </>
          )
        }
      </Loaded>
    </Card>
  );
}

function OpenPart() {
  const open = useLoad(() => askPayment<OpenMatters>('GET', 'ledger/open'), [], { everyMs });
  const action = useAction();
  const [settling, setSettling] = useState<UnclearPayment | undefined>(undefined);
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
  return (
    <Loaded of={open}>
      {({ refunds, payments, chainPayments, names }) => (
        <>
          <Card title={words.unclear} tone={payments.length > 0 ? 'warn' : 'neutral'}>
            {payments.length > 0 && <p class="soft">{words.unclearNote}</p>}
            <Table
              caption={words.unclear}
              rows={payments}
              rowKey={({ id }) => id}
              empty={<p class="soft">{words.unclearEmpty}</p>}
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
          </Card>
          <Card title={words.chainPayments} tone={chainPayments.length > 0 ? 'warn' : 'neutral'}>
            {chainPayments.length > 0 && <p class="soft">{words.chainPaymentsNote}</p>}
            <Table
              caption={words.chainPayments}
              rows={chainPayments}
              rowKey={({ id }) => id}
              empty={<p class="soft">{words.chainPaymentsEmpty}</p>}
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
          </Card>
          <Card title={words.refunds} tone={refunds.some(({ givenUp }) => givenUp) ? 'warn' : 'neutral'}>
            <Table
              caption={words.refunds}
              rows={refunds}
              rowKey={({ quoteId }) => quoteId}
              empty={<p class="soft">{words.refundsEmpty}</p>}
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
          </Card>
          <Card title={words.names}>
            <Table
              caption={words.names}
              rows={names}
              rowKey={({ reference }) => reference}
              empty={<p class="soft">{words.namesEmpty}</p>}
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
          </Card>
          {settling !== undefined && (
            <SettleDialog
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

const accountHref = (address: string): string => `${root}/accounts/${encodeURIComponent(address)}`;

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

function SettleDialog({ onClose, settle }: { onClose(): void; settle(transaction: string): void }) {
  const [transaction, setTransaction] = useState('');
  const [error, setError] = useState<string | undefined>(undefined);
  const submit = (): void => {
    if (isTransactionHash(transaction.trim())) settle(transaction.trim());
    else setError(words.settleBad);
  };
  return (
    <Dialog open title={words.settleTitle} onClose={onClose}>
      <p>{words.settleText}</p>
      <Form onSubmit={submit}>
        <TextField
          label={words.settleLabel}
          value={transaction}
          onInput={setTransaction}
          hint={words.settleHint}
          error={error}
          mono
          focused
          maxLength={80}
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

const kinds = ['all', 'card', 'chain', 'x402'] as const;
const paymentTones: Readonly<Record<string, Tone>> = {
  paid: 'good',
  credited: 'good',
  failed: 'bad',
  charged_back: 'bad',
  unclear: 'warn',
  refunded: 'warn',
};

function PaymentsPart({ query }: { readonly query: URLSearchParams }) {
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

interface AccountsProps {
  readonly address: string | undefined;
  readonly query: URLSearchParams;
}

function AccountsPart({ address, query }: AccountsProps) {
  return (
    <>
      <Columns>
        <Card title={words.findAccount}>
          <FindForm
            key={address}
            label={words.address}
            button={words.show}
            start={address ?? ''}
            refusal={(value) => (value === '' ? words.address : undefined)}
            onFind={(value) => navigate(accountHref(value))}
          />
        </Card>
        <GiveForm key={address} start={address ?? ''} />
      </Columns>
      {address !== undefined && <Account address={address} query={query} />}
    </>
  );
}

function Account({ address, query }: { readonly address: string; readonly query: URLSearchParams }) {
  const before = query.get('before');
  const account = useLoad(
    () =>
      askPayment<LedgerAccount>(
        'GET',
        `ledger/accounts/${encodeURIComponent(address)}${pageQuery({ before })}`,
      ),
    [address, before],
    { everyMs, keep: true },
  );
  return (
    <Card title={<Id value={address} full href={`/address/${encodeURIComponent(address)}`} />}>
      <Loaded of={account}>
        {({ balance, entries, next }) => (
          <>
            {balance === null ? (
              <p>{words.noAccount}</p>
            ) : (
              <Facts>
                <Fact label={words.balance}>
                  <Amount winc={BigInt(balance.winc)} />
                </Fact>
                <Fact label={words.usable}>
                  <Amount winc={BigInt(balance.effectiveBalance)} />
                </Fact>
              </Facts>
            )}
            <Entries entries={entries} />
            <Pager query={query} path={accountHref(address)} next={next} />
          </>
        )}
      </Loaded>
    </Card>
  );
}

function Entries({ entries }: { readonly entries: readonly LedgerEntry[] }) {
  return (
    <Table
      caption={words.entries}
      rows={entries}
      rowKey={({ sequence }) => String(sequence)}
      empty={<Empty title={words.noEntries} />}
      columns={[
        { id: 'when', head: words.when, cell: ({ createdAt }) => <Time at={createdAt} /> },
        {
          id: 'amount',
          head: words.change,
          align: 'end',
          cell: ({ amount }) => <Amount winc={BigInt(amount)} />,
        },
        { id: 'reason', head: words.reason, cell: ({ reason }) => reason },
        { id: 'id', head: texts.operator.router.id, cell: ({ changeId }) => <Id value={changeId} /> },
        {
          id: 'note',
          head: words.note,
          wide: true,
          cell: ({ note }) => (note === null ? '–' : <bdi class="foreign">{clampText(note, 200)}</bdi>),
        },
      ]}
    />
  );
}

function GiveForm({ start }: { readonly start: string }) {
  const [address, setAddress] = useState(start);
  const [credits, setCredits] = useState('');
  const [message, setMessage] = useState('');
  const [error, setError] = useState<string | undefined>(undefined);
  // One for each filled form: sent twice, it gives once.
  const [id, setId] = useState(() => crypto.randomUUID());
  const action = useAction();
  const submit = async (): Promise<void> => {
    const [to, amount, why] = [address.trim(), credits.trim(), message.trim()];
    if (!isPositiveDecimal(amount) || to === '') {
      setError(to === '' ? words.address : words.giveBadAmount);
      return;
    }
    setError(undefined);
    const question = { title: words.giveTitle, text: words.giveText(amount, to), confirm: words.give };
    if (!(await confirmAction(question))) return;
    action.run(async () => {
      const body = { address: to, credits: amount, id, ...(why !== '' && { message: why }) };
      const { balance } = await askPayment<GivenCredits>('POST', 'ledger/credit', body);
      setCredits('');
      setMessage('');
      setId(crypto.randomUUID());
      return words.giveDone(formatCredits(BigInt(balance)));
    });
  };
  return (
    <Card title={words.give}>
      <p class="soft">{words.giveNote}</p>
      <Form onSubmit={() => void submit()} busy={action.busy} error={error}>
        <TextField label={words.address} value={address} onInput={setAddress} mono maxLength={100} />
        <NumberField label={words.giveCredits} value={credits} onInput={setCredits} />
        <TextField label={words.giveMessage} value={message} onInput={setMessage} maxLength={500} />
        <div class="actions">
          <Button submit kind="primary" busy={action.busy}>
            {words.give}
          </Button>
        </div>
      </Form>
    </Card>
  );
}

function GiftsPart() {
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

function LossesPart({ query }: { readonly query: URLSearchParams }) {
  const before = query.get('before');
  const losses = useLoad(
    () => askPayment<LedgerLosses>('GET', `ledger/losses${pageQuery({ before })}`),
    [before],
    {
      keep: true,
    },
  );
  return (
    <Card title={words.lossesTitle}>
      <p class="soft">{words.lossesNote}</p>
      <Loaded of={losses}>
        {({ total, entries, next }) =>
          entries.length === 0 ? (
            <Empty title={words.lossesEmpty} />
          ) : (
            <>
              <Facts>
                <Fact label={words.losses}>
                  <Amount winc={BigInt(total)} />
                </Fact>
              </Facts>
              <Entries entries={entries} />
              <Pager query={query} path={`${root}/losses`} next={next} />
            </>
          )
        }
      </Loaded>
    </Card>
  );
}

function PricesPart() {
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
