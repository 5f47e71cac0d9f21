/** By card: the page of the card provider opens in this tab, and leads back to the purchase. */
import { useEffect, useState } from 'preact/hooks';
import { Button } from '../../../kit/button.tsx';
import { Card, Columns } from '../../../kit/card.tsx';
import { Form, NumberField, Select, TextArea, TextField } from '../../../kit/form.tsx';
import { safeHref } from '../../../kit/format.ts';
import { Loaded, useLoad } from '../../../kit/load.tsx';
import { Id } from '../../../kit/value.tsx';
import {
  balanceOf,
  type Currencies,
  currencies,
  openTopUp,
  priceOfPayment,
  rates,
} from '../../../services/payment.ts';
import { settings } from '../../../services/settings.ts';
import { texts } from '../../../texts.ts';
import type { Wallet } from '../../../wallet/wallet.ts';
import { formatMoney, parseAmount } from '../amounts.ts';
import { purchases } from './purchase.ts';
import { Quote } from './quote.tsx';

const words = texts.wallet.topUp;

/** Whose credits they are. */
export type CreditedWallet = Pick<Wallet, 'address' | 'kind'>;

type Props =
  | { readonly of: CreditedWallet; readonly gift?: never }
  /** For an email address; nobody needs a wallet to give. */
  | { readonly gift: true; readonly of?: never };

export function CardTopUp(props: Props) {
  const known = useLoad(currencies, []);
  return <Loaded of={known}>{(list) => <Order {...props} currencies={list} />}</Loaded>;
}

type OrderProps = Props & { readonly currencies: Currencies };

function Order({ of: wallet, gift: isGift, currencies: { supportedCurrencies, limits } }: OrderProps) {
  const [currency, setCurrency] = useState(
    supportedCurrencies.includes('usd') ? 'usd' : (supportedCurrencies[0] ?? 'usd'),
  );
  const gift = isGift === true;
  const limit = limits[currency];
  const hasDecimals = limit?.zeroDecimalCurrency !== true;
  const money = (amount: number): string => formatMoney(amount, currency, hasDecimals);
  const suggested = limit?.suggestedPaymentAmounts ?? [];
  const [text, setText] = useState(wholeText(suggested[0] ?? 1_000, hasDecimals));
  const [promoCode, setPromoCode] = useState('');
  const [email, setEmail] = useState('');
  const [message, setMessage] = useState('');
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState<Error | undefined>(undefined);
  const [isSubmitted, submitted] = useState(false);

  const amount = Number(parseAmount(text, hasDecimals ? 2 : 0) ?? 0n);
  const wrongAmount = problemOf(amount, limit, money);
  const settledCode = useSettled(promoCode.trim());
  const settledAmount = useSettled(wrongAmount === undefined ? amount : 0);
  const price = useLoad(
    async (signal) =>
      settledAmount === 0
        ? undefined
        : priceOfPayment(currency, BigInt(settledAmount), {
            promoCode: settledCode,
            ...(wallet !== undefined && { address: wallet.address }),
            signal,
          }),
    [currency, settledAmount, settledCode, wallet?.address],
    { keep: true },
  );
  const gibibyte = useLoad(rates, []);
  const wrongEmail = gift && !/^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(email.trim());

  const pay = async (): Promise<void> => {
    submitted(true);
    if (wrongAmount !== undefined || wrongEmail) return;
    setBusy(true);
    setFailure(undefined);
    try {
      await leaveToPay({
        to: wallet?.address ?? email.trim(),
        addressType: wallet?.kind ?? 'email',
        currency,
        amount,
        promoCode: promoCode.trim(),
        ...(gift && { giftMessage: message.trim() }),
        paid: money(price.value?.actualPaymentAmount ?? amount),
      });
    } catch (error) {
      setFailure(error as Error);
      setBusy(false);
    }
  };

  return (
    <Columns>
      <Card>
        <Form onSubmit={pay} busy={isBusy} error={failure}>
          {gift && (
            <>
              <p class="soft">{words.giftNote}</p>
              <TextField
                label={words.giftEmail}
                type="email"
                value={email}
                onInput={setEmail}
                maxLength={254}
                error={isSubmitted && wrongEmail ? words.wrongEmail : undefined}
              />
              <TextArea
                label={words.giftMessage}
                rows={2}
                value={message}
                onInput={setMessage}
                maxLength={250}
              />
            </>
          )}
          <div class="actions">
            {suggested.map((each) => (
              <Button
                key={each}
                small
                pressed={each === amount}
                onClick={() => setText(wholeText(each, hasDecimals))}
              >
                {money(each)}
              </Button>
            ))}
          </div>
          <NumberField
            label={words.amount}
            value={text}
            onInput={setText}
            unit={currency.toUpperCase()}
            hint={
              limit && words.between(money(limit.minimumPaymentAmount), money(limit.maximumPaymentAmount))
            }
            error={text === '' && !isSubmitted ? undefined : wrongAmount}
          />
          <Select
            label={words.currency}
            value={currency}
            options={supportedCurrencies.map((code) => ({ value: code, label: code.toUpperCase() }))}
            onChange={(code) => {
              setCurrency(code);
              const other = limits[code];
              setText(
                wholeText(other?.suggestedPaymentAmounts[0] ?? 1_000, other?.zeroDecimalCurrency !== true),
              );
            }}
          />
          <TextField
            label={words.promoCode}
            hint={words.promoHint}
            value={promoCode}
            onInput={setPromoCode}
            maxLength={60}
          />
          <div class="actions">
            <Button kind="primary" submit busy={isBusy}>
              {isBusy ? words.opening : words.pay(money(price.value?.actualPaymentAmount ?? amount))}
            </Button>
          </div>
          {settings().controlsLocalNetwork ? (
            <p class="soft">
              {words.testCard} <Id full value={words.testCardNumber} what={words.testCardWhat} />
            </p>
          ) : (
            <p class="soft">{words.atProvider}</p>
          )}
        </Form>
      </Card>
      <Card title={words.summary}>
        <Loaded of={price}>
          {(quoted) =>
            quoted === undefined ? (
              <p class="soft">{words.wrongAmount}</p>
            ) : (
              <Quote
                formatFee={money}
                price={quoted}
                paid={money(quoted.actualPaymentAmount)}
                wincPerGibibyte={gibibyte.value?.winc}
              />
            )
          }
        </Loaded>
      </Card>
    </Columns>
  );
}

const wholeText = (amount: number, hasDecimals: boolean): string =>
  String(hasDecimals ? amount / 100 : amount);

function problemOf(
  amount: number,
  limit: Currencies['limits'][string] | undefined,
  money: (amount: number) => string,
): string | undefined {
  if (amount === 0) return words.wrongAmount;
  if (limit === undefined) return undefined;
  if (amount < limit.minimumPaymentAmount) return words.tooLittle(money(limit.minimumPaymentAmount));
  return amount > limit.maximumPaymentAmount ? words.tooMuch(money(limit.maximumPaymentAmount)) : undefined;
}

type CardOrder = Omit<Parameters<typeof openTopUp>[0], 'successUrl' | 'cancelUrl'> & {
  readonly paid: string;
};

/** The purchase is kept before the tab leaves. */
async function leaveToPay({ paid, ...order }: CardOrder): Promise<void> {
  const id = crypto.randomUUID();
  const back = `${window.location.origin}/wallet/top-up/payment/${id}`;
  const isGift = order.addressType === 'email';
  const wincBefore = isGift ? 0n : (await balanceOf(order.to)).winc;
  const { topUpQuote, paymentSession } = await openTopUp({
    ...order,
    successUrl: `${back}?back=paid`,
    cancelUrl: `${back}?back=cancelled`,
  });
  const url = safeHref(paymentSession.url ?? '');
  if (url === undefined) throw new Error(words.noUrl);
  await purchases.put(id, {
    id,
    way: isGift ? 'gift' : 'card',
    madeAt: Date.now(),
    to: order.to,
    paid,
    winc: BigInt(topUpQuote.winstonCreditAmount),
    state: 'open',
    quoteId: topUpQuote.topUpQuoteId,
    url,
    expiresAt: Date.parse(topUpQuote.quoteExpirationDate),
    wincBefore,
  });
  window.location.assign(url);
}

const settledMs = 400;

/** The value once it has not changed for a moment: nobody is asked for the price of half a number. */
export function useSettled<T>(value: T): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), settledMs);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}
