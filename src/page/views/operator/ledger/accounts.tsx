/** One wallet and its entries, and credits that are given. */
import { useState } from 'preact/hooks';
import type { GivenCredits, LedgerAccount, LedgerEntry } from '../../../../formats/admin-answers.ts';
import { navigate } from '../../../app/location.ts';
import { Button } from '../../../kit/button.tsx';
import { Card, Columns, Fact, Facts } from '../../../kit/card.tsx';
import { confirmAction } from '../../../kit/dialog.tsx';
import { Form, NumberField, TextField } from '../../../kit/form.tsx';
import { clampText, formatCredits } from '../../../kit/format.ts';
import { Loaded, useLoad } from '../../../kit/load.tsx';
import { Empty } from '../../../kit/state.tsx';
import { Table } from '../../../kit/table.tsx';
import { Amount, Id, Time } from '../../../kit/value.tsx';
import { askPayment } from '../../../services/operator/ask.ts';
import { texts } from '../../../texts.ts';
import { FindForm } from '../find-form.tsx';
import { isPositiveDecimal } from '../ids.ts';
import { pageQuery } from '../page-query.ts';
import { Pager } from '../pager.tsx';
import { useAction } from '../use-action.ts';
import { accountHref, everyMs } from './place.ts';

const words = texts.operator.ledger;

interface AccountsProps {
  readonly address: string | undefined;
  readonly query: URLSearchParams;
}

export function AccountsPart({ address, query }: AccountsProps) {
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

export function Entries({ entries }: { readonly entries: readonly LedgerEntry[] }) {
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
