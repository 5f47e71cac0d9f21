/** What of the wallet's payments can go back to where it came from, and what has. Only the wallet itself may see and do it. */
import { useState } from 'preact/hooks';
import { Button } from '../../kit/button.tsx';
import { Card } from '../../kit/card.tsx';
import { confirmAction } from '../../kit/dialog.tsx';
import { formatCredits } from '../../kit/format.ts';
import { Loaded, useLoad } from '../../kit/load.tsx';
import { notify } from '../../kit/notify.tsx';
import { Table } from '../../kit/table.tsx';
import { Amount, Badge, Id, Time } from '../../kit/value.tsx';
import {
  type CreditReturn,
  makeReturn,
  type ReturnablePayment,
  type Returns as ReturnsAnswer,
  returnsPath,
} from '../../services/payment.ts';
import { texts } from '../../texts.ts';
import { signForPayment } from '../../wallet/sign-for.ts';
import type { Wallet } from '../../wallet/wallet.ts';
import { amountText } from '../operator/money.ts';
import { readOwn } from './own-reading.ts';

const words = texts.wallet.returns;
/** While one is on its way. */
const everyMs = 3_000;

export function Returns({ of: current }: { readonly of: Wallet }) {
  const [busy, setBusy] = useState(false);
  const [isUnderWay, setUnderWay] = useState(false);
  const own = useLoad(
    async (signal) => {
      const answer = await readOwn<ReturnsAnswer>(current, returnsPath, signal);
      setUnderWay(answer.returns.some(({ state }) => state === 'due' || state === 'sent'));
      return answer;
    },
    [current.address],
    isUnderWay ? { everyMs } : {},
  );
  const giveBack = async (payment: ReturnablePayment): Promise<void> => {
    const amount = amountText(payment.amount, payment.token);
    const credits = formatCredits(BigInt(payment.unspentWinc));
    const text = words.explain(credits, payment.to === 'card' ? words.card : payment.to);
    const question = {
      title: words.question(amount),
      text: payment.byHand ? `${text} ${words.byHand}` : text,
      confirm: words.act,
    };
    if (!(await confirmAction(question))) return;
    setBusy(true);
    try {
      const body = JSON.stringify({ payment: payment.payment });
      const nonce = crypto.randomUUID();
      const headers = await signForPayment(current, { method: 'POST', path: returnsPath, body, nonce });
      await makeReturn(body, headers);
      notify({ tone: 'good', text: words.done });
    } catch (error) {
      notify({ tone: 'bad', text: error instanceof Error ? error.message : String(error) });
    } finally {
      setBusy(false);
      own.again();
    }
  };
  return (
    <Loaded of={own}>
      {({ windowDays, feePercent, payments, returns }) =>
        windowDays === 0 && returns.length === 0 ? null : (
          <Card title={words.title}>
            {windowDays > 0 && <p class="soft">{words.note(windowDays, feePercent)}</p>}
            {windowDays > 0 && (
              <Table
                caption={words.title}
                rows={payments}
                rowKey={({ payment }) => payment}
                empty={<p class="soft">{words.none}</p>}
                columns={[
                  {
                    id: 'amount',
                    head: words.goesBack,
                    cell: ({ amount, token, unspentWinc, refusal }) => (
                      <>
                        {refusal === null ? amountText(amount, token) : '–'}
                        <br />
                        <span class="soft">
                          <Amount winc={BigInt(unspentWinc)} /> {words.left}
                        </span>
                      </>
                    ),
                  },
                  {
                    id: 'act',
                    head: '',
                    cell: (payment) =>
                      payment.refusal === null ? (
                        <Button small busy={busy} onClick={() => void giveBack(payment)}>
                          {words.act}
                        </Button>
                      ) : (
                        <span class="soft">{words.refusals[payment.refusal] ?? payment.refusal}</span>
                      ),
                  },
                  {
                    id: 'when',
                    head: words.paidAt,
                    cell: ({ date, until }) => (
                      <>
                        <Time at={Date.parse(date)} />
                        <br />
                        <span class="soft">
                          {words.until} <Time at={Date.parse(until)} />
                        </span>
                      </>
                    ),
                  },
                  {
                    id: 'to',
                    head: words.to,
                    cell: ({ to }) => (to === 'card' ? words.card : <Id value={to} />),
                  },
                ]}
              />
            )}
            {returns.length > 0 && <Made returns={returns} />}
          </Card>
        )
      }
    </Loaded>
  );
}

const tones: Readonly<Record<string, 'good' | 'bad' | 'info'>> = {
  confirmed: 'good',
  failed: 'bad',
  refused: 'bad',
};

function Made({ returns }: { readonly returns: readonly CreditReturn[] }) {
  return (
    <>
      <h3>{words.made}</h3>
      <Table
        caption={words.made}
        rows={returns}
        rowKey={({ id }) => id}
        columns={[
          { id: 'amount', head: words.goesBack, cell: ({ amount, token }) => amountText(amount, token) },
          {
            id: 'state',
            head: words.state,
            cell: ({ state }) => <Badge tone={tones[state] ?? 'info'}>{words.states[state] ?? state}</Badge>,
          },
          {
            id: 'credits',
            head: words.credits,
            align: 'end',
            cell: ({ winc }) => <Amount winc={BigInt(winc)} />,
          },
          { id: 'to', head: words.to, cell: ({ to }) => (to === 'card' ? words.card : <Id value={to} />) },
          { id: 'when', head: words.when, cell: ({ date }) => <Time at={Date.parse(date)} /> },
          {
            id: 'transaction',
            head: words.transaction,
            cell: ({ transaction }) =>
              transaction === null ? '–' : <Id value={transaction} what={words.transaction} />,
          },
        ]}
      />
    </>
  );
}
