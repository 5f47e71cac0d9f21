/** By coin: the wallet sends to the service's address, and the page reports the transaction. */
import { useState } from 'preact/hooks';
import { navigate } from '../../../app/location.ts';
import { Button } from '../../../kit/button.tsx';
import { Card, Columns, Fact, Facts } from '../../../kit/card.tsx';
import { Form, NumberField, Select, TextField } from '../../../kit/form.tsx';
import { formatCoin } from '../../../kit/format.ts';
import { Loaded, useLoad } from '../../../kit/load.tsx';
import { Empty } from '../../../kit/state.tsx';
import { Id } from '../../../kit/value.tsx';
import { type PaymentInfo, paymentInfo, priceOfPayment, rates } from '../../../services/payment.ts';
import { settings } from '../../../services/settings.ts';
import { tokenFacts, tokensFor } from '../../../services/tokens.ts';
import { texts } from '../../../texts.ts';
import type { Wallet } from '../../../wallet/wallet.ts';
import { parseAmount } from '../amounts.ts';
import { coinsOf } from '../coins.ts';
import { useSettled } from './card.tsx';
import { purchases } from './purchase.ts';
import { Quote } from './quote.tsx';

const words = texts.wallet.topUp;
const everyMs = 5_000;

export function CoinTopUp({ of }: { readonly of: Wallet }) {
  const info = useLoad(paymentInfo, []);
  return <Loaded of={info}>{(known) => <Send of={of} info={known} />}</Loaded>;
}

interface Props {
  readonly of: Wallet;
  readonly info: PaymentInfo;
}

function Send({ of: wallet, info: { addresses } }: Props) {
  const tokens = tokensFor(wallet.kind, addresses);
  const kind = texts.wallet.kinds[wallet.kind];
  const [token, setToken] = useState(tokens[0] ?? '');
  const [text, setText] = useState('1');
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState<Error | undefined>(undefined);
  const facts = tokenFacts(token);
  const amount = facts && parseAmount(text, facts.decimals);
  const settled = useSettled(amount);
  const price = useLoad(
    async (signal) =>
      settled === undefined ? undefined : priceOfPayment(token, settled, { address: wallet.address, signal }),
    [token, settled],
    { keep: true },
  );
  const gibibyte = useLoad(rates, []);
  const coins = useLoad(() => coinsOf(wallet.kind, wallet.address), [wallet.kind, wallet.address], {
    everyMs,
  });
  const payTo = addresses[token];
  if (facts === undefined || payTo === undefined) {
    return (
      <Card>
        <Empty title={words.noCoin(kind)} />
      </Card>
    );
  }
  const shown = (units: bigint): string => formatCoin(units, facts.decimals, facts.symbol);
  const owned = coins.value?.find(({ symbol }) => symbol === facts.symbol)?.amount;
  const isTooMuch = owned !== undefined && (amount ?? 0n) > owned;
  const send = async (): Promise<void> => {
    if (amount === undefined) {
      setFailure(new Error(words.wrongAmount));
      return;
    }
    setBusy(true);
    setFailure(undefined);
    try {
      const transactionId = (await wallet.send?.(token, payTo, amount)) ?? '';
      await follow(wallet, token, transactionId, shown(amount), price.value?.winc ?? 0n);
    } catch (error) {
      setFailure(error as Error);
      setBusy(false);
    }
  };
  return (
    <>
      <Columns>
        <Card>
          <Form onSubmit={send} busy={isBusy} error={failure}>
            {tokens.length > 1 && (
              <Select
                label={words.coinToken}
                hint={words.coinWhy(kind)}
                value={token}
                options={tokens.map((each) => ({ value: each, label: tokenFacts(each)?.label ?? each }))}
                onChange={setToken}
              />
            )}
            <NumberField
              label={words.amount}
              value={text}
              onInput={setText}
              unit={facts.symbol}
              hint={owned === undefined ? undefined : words.youHave(shown(owned))}
              error={wrongAmount(amount, text, isTooMuch)}
            />
            <Facts>
              <Fact label={words.payTo}>
                <Id value={payTo} what={words.payTo} />
              </Fact>
            </Facts>
            {wallet.send === undefined ? (
              <p>{words.cannotSend}</p>
            ) : (
              <div class="actions">
                <Button kind="primary" submit busy={isBusy} disabled={amount === undefined || isTooMuch}>
                  {isBusy ? words.steps.sending : words.sendCoin(shown(amount ?? 0n))}
                </Button>
              </div>
            )}
          </Form>
        </Card>
        <Card title={words.summary}>
          <Loaded of={price}>
            {(quoted) =>
              quoted === undefined ? (
                <p class="soft">{words.wrongAmount}</p>
              ) : (
                <>
                  <Quote price={quoted} paid={shown(settled ?? 0n)} wincPerGibibyte={gibibyte.value?.winc} />
                  <p class="soft">{words.atRate}</p>
                </>
              )
            }
          </Loaded>
        </Card>
      </Columns>
      <div class="wallet-narrow">
        <Report wallet={wallet} token={token} symbol={facts.symbol} />
      </div>
    </>
  );
}

function wrongAmount(amount: bigint | undefined, text: string, isTooMuch: boolean): string | undefined {
  if (amount === undefined) return text === '' ? undefined : words.wrongAmount;
  if (!isTooMuch) return undefined;
  return settings().controlsLocalNetwork ? words.notEnoughLocally : words.notEnough;
}

/** For a transaction that was sent elsewhere, or whose tab was closed too early. */
function Report({
  wallet,
  token,
  symbol,
}: {
  readonly wallet: Wallet;
  readonly token: string;
  readonly symbol: string;
}) {
  const [id, setId] = useState('');
  return (
    <Card title={words.reportTitle}>
      <Form
        onSubmit={() => {
          if (id.trim() !== '') follow(wallet, token, id.trim(), symbol, 0n);
        }}
      >
        <p class="soft">{words.reportNote}</p>
        <TextField label={words.transactionId} mono value={id} onInput={setId} maxLength={120} />
        <div class="actions">
          <Button submit disabled={id.trim() === ''}>
            {words.report}
          </Button>
        </div>
      </Form>
    </Card>
  );
}

/** Kept under the transaction's id, so that reporting it twice is one purchase. */
async function follow(
  { address }: Wallet,
  token: string,
  transactionId: string,
  paid: string,
  winc: bigint,
): Promise<void> {
  const known = await purchases.get(transactionId);
  if (known === undefined || known.state === 'failed') {
    await purchases.put(transactionId, {
      id: transactionId,
      way: 'coin',
      madeAt: Date.now(),
      to: address,
      paid,
      winc,
      state: 'open',
      token,
      transactionId,
    });
  }
  navigate(`/wallet/top-up/payment/${encodeURIComponent(transactionId)}`);
}
