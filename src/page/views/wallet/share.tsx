/** Credits lent to other wallets: a signed, public item says so, and another takes it back. */
import { useState } from 'preact/hooks';
import type { Approval } from '../../../formats/approval.ts';
import { Button } from '../../kit/button.tsx';
import { Card, Columns } from '../../kit/card.tsx';
import { confirmAction } from '../../kit/dialog.tsx';
import { Form, NumberField, Select, TextField } from '../../kit/form.tsx';
import { formatCredits, shortId } from '../../kit/format.ts';
import { type Load, Loaded, useLoad } from '../../kit/load.tsx';
import { notify } from '../../kit/notify.tsx';
import { PageTitle } from '../../kit/page-title.tsx';
import { Empty } from '../../kit/state.tsx';
import { type Balance, balanceOf } from '../../services/payment.ts';
import { texts } from '../../texts.ts';
import { type Wallet, wallet } from '../../wallet/wallet.ts';
import { addressKind, parseAmount } from './amounts.ts';
import { ApprovalTable } from './approvals.tsx';
import { lend, takeBack } from './lend.ts';
import { NeedWallet } from './need-wallet.tsx';

const words = texts.wallet.share;
const everyMs = 5_000;

export function Share() {
  const current = wallet.value;
  return (
    <>
      <PageTitle title={words.title} note={words.note} />
      {current === undefined ? <NeedWallet /> : <Lending key={current.address} of={current} />}
    </>
  );
}

function Lending({ of: current }: { readonly of: Wallet }) {
  const balance = useLoad((signal) => balanceOf(current.address, signal), [current.address], { everyMs });
  return (
    <>
      <Columns>
        <LendForm of={current} balance={balance} />
        <Card title={texts.wallet.approvals.received}>
          <Loaded of={balance}>
            {({ received }) => (
              <ApprovalTable
                caption={texts.wallet.approvals.received}
                approvals={received}
                show="payer"
                empty={<Empty title={texts.wallet.approvals.receivedEmpty} />}
              />
            )}
          </Loaded>
        </Card>
      </Columns>
      <Card title={words.given}>
        <Loaded of={balance}>
          {({ given }) => (
            <ApprovalTable
              caption={words.given}
              approvals={given}
              show="user"
              empty={<Empty title={words.givenEmpty} />}
              action={(approval) => <TakeBack of={current} approval={approval} done={balance.again} />}
            />
          )}
        </Loaded>
      </Card>
    </>
  );
}

const spans = {
  never: 0,
  hour: 3_600,
  day: 86_400,
  week: 604_800,
  month: 2_592_000,
  year: 31_536_000,
} as const;
type Span = keyof typeof spans;
const spanNames: readonly Span[] = ['never', 'hour', 'day', 'week', 'month', 'year'];

interface LendFormProps {
  readonly of: Wallet;
  readonly balance: Load<Balance>;
}

function LendForm({ of: current, balance }: LendFormProps) {
  const [to, setTo] = useState('');
  const [text, setText] = useState('1');
  const [span, setSpan] = useState<Span>('never');
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState<Error | undefined>(undefined);
  const [isSubmitted, submitted] = useState(false);
  const winc = parseAmount(text, 12);
  const owned = balance.value?.winc;
  const wrongTo = wrongAddress(to.trim(), current.address);
  const wrongAmount =
    winc === undefined
      ? texts.wallet.topUp.wrongAmount
      : owned !== undefined && winc > owned
        ? words.tooMuch(formatCredits(owned))
        : undefined;
  const submit = async (): Promise<void> => {
    submitted(true);
    if (wrongTo !== undefined || wrongAmount !== undefined || winc === undefined) return;
    setBusy(true);
    setFailure(undefined);
    try {
      await lend(current, { to: to.trim(), winc, seconds: spans[span] });
      notify({ tone: 'good', text: words.lent(formatCredits(winc), shortId(to.trim())) });
      setTo('');
      submitted(false);
      balance.again();
    } catch (error) {
      setFailure(error as Error);
    }
    setBusy(false);
  };
  return (
    <Card title={words.lend}>
      <Form onSubmit={submit} busy={isBusy} error={failure}>
        <TextField
          label={words.to}
          hint={words.toHint}
          mono
          value={to}
          onInput={setTo}
          maxLength={64}
          error={isSubmitted || to.length > 30 ? wrongTo : undefined}
        />
        <NumberField
          label={words.amount}
          value={text}
          onInput={setText}
          error={isSubmitted || text !== '' ? wrongAmount : undefined}
        />
        <Select
          label={words.ends}
          value={span}
          options={spanNames.map((name) => ({ value: name, label: words[name] }))}
          onChange={setSpan}
        />
        <p class="soft">{words.how}</p>
        <div class="actions">
          <Button kind="primary" submit busy={isBusy}>
            {words.lend}
          </Button>
        </div>
      </Form>
    </Card>
  );
}

function wrongAddress(to: string, own: string): string | undefined {
  if (addressKind(to) === undefined) return words.wrongAddress;
  const isOwn = to.startsWith('0x') ? to.toLowerCase() === own.toLowerCase() : to === own;
  return isOwn ? words.toSelf : undefined;
}

interface TakeBackProps {
  readonly of: Wallet;
  readonly approval: Approval;
  readonly done: () => void;
}

function TakeBack({ of: current, approval: { approvedAddress }, done }: TakeBackProps) {
  const [isBusy, setBusy] = useState(false);
  const ask = async (): Promise<void> => {
    const isSure = await confirmAction({
      title: words.revokeTitle,
      text: words.revokeText(shortId(approvedAddress)),
      confirm: words.revoke,
    });
    if (!isSure) return;
    setBusy(true);
    try {
      await takeBack(current, approvedAddress);
      notify({ tone: 'good', text: words.revoked });
      done();
    } catch (error) {
      notify({ tone: 'bad', text: (error as Error).message });
    }
    setBusy(false);
  };
  return (
    <Button small busy={isBusy} onClick={ask}>
      {words.revoke}
    </Button>
  );
}
