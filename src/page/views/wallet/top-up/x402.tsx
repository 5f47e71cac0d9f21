/** By x402: the wallet signs a transfer of dollars, and the service carries it out. */
import { useState } from 'preact/hooks';
import { navigate } from '../../../app/location.ts';
import { Button } from '../../../kit/button.tsx';
import { Card, Columns, Fact, Facts } from '../../../kit/card.tsx';
import { Form, NumberField } from '../../../kit/form.tsx';
import { formatBytes, formatCoin, formatCredits } from '../../../kit/format.ts';
import { Loaded, useLoad } from '../../../kit/load.tsx';
import { Empty } from '../../../kit/state.tsx';
import { Id } from '../../../kit/value.tsx';
import { rates, x402Offer } from '../../../services/payment.ts';
import { settings } from '../../../services/settings.ts';
import { texts } from '../../../texts.ts';
import { openWalletChooser, type Wallet } from '../../../wallet/wallet.ts';
import {
  authorizationTypedData,
  newAuthorization,
  type PaymentRequirement,
  payableRequirement,
  paymentHeader,
  usdcDecimals,
} from '../../../wallet/x402.ts';
import { bytesFor, parseAmount } from '../amounts.ts';
import { chainSeconds, coinsOf } from '../coins.ts';
import { useSettled } from './card.tsx';
import { purchases } from './purchase.ts';

const words = texts.wallet.topUp;
const creditDecimals = 12;
const everyMs = 5_000;

export function X402TopUp({ of: wallet }: { readonly of: Wallet }) {
  const { signTypedData } = wallet;
  const [text, setText] = useState('1');
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState<Error | undefined>(undefined);
  const winc = parseAmount(text, creditDecimals);
  // The service sells whole ones and parts of them, from one on.
  const credits = winc !== undefined && winc >= 10n ** 12n ? text.trim().replace(/[.]$/, '') : undefined;
  const settled = useSettled(credits);
  const offer = useLoad(
    async (signal) => {
      if (settled === undefined) return undefined;
      const { accepts } = await x402Offer<PaymentRequirement>(settled, wallet.address, signal);
      return { requirement: payableRequirement(accepts) };
    },
    [settled, wallet.address],
    { keep: true },
  );
  const gibibyte = useLoad(rates, []);
  // Read where this console can: the local facilitator's dollars.
  const coins = useLoad(() => coinsOf(wallet.kind, wallet.address), [wallet.kind, wallet.address], {
    everyMs,
  });
  if (signTypedData === undefined) {
    return (
      <Card>
        <Empty
          title={words.x402Needs}
          action={<Button onClick={() => openWalletChooser(['ethereum'])}>{texts.wallet.change}</Button>}
        >
          {words.x402Note}
        </Empty>
      </Card>
    );
  }
  const pay = async (requirement: PaymentRequirement, bought: string): Promise<void> => {
    setBusy(true);
    setFailure(undefined);
    try {
      const now = await chainSeconds(settings().controlsLocalNetwork);
      const authorization = newAuthorization(requirement, wallet.address, now);
      const signature = await signTypedData(authorizationTypedData(requirement, authorization));
      const id = crypto.randomUUID();
      // Kept before it is sent: the answer may be lost on its way.
      await purchases.put(id, {
        id,
        way: 'x402',
        madeAt: Date.now(),
        to: wallet.address,
        paid: dollarsOf(requirement),
        winc: parseAmount(bought, creditDecimals) ?? 0n,
        state: 'open',
        credits: bought,
        payment: paymentHeader(requirement, authorization, signature),
      });
      navigate(`/wallet/top-up/payment/${id}`);
    } catch (error) {
      setFailure(error as Error);
      setBusy(false);
    }
  };
  const requirement = offer.value?.requirement;
  const owned = coins.value?.find(({ symbol }) => symbol === words.usdc)?.amount;
  const isTooMuch =
    requirement !== undefined && owned !== undefined && BigInt(requirement.maxAmountRequired) > owned;
  return (
    <Columns>
      <Card>
        <Form
          busy={isBusy}
          error={failure}
          onSubmit={() => {
            if (requirement !== undefined && settled !== undefined && settled === credits)
              pay(requirement, settled);
          }}
        >
          <p class="soft">{words.x402Note}</p>
          <NumberField
            label={words.x402Credits}
            value={text}
            onInput={setText}
            hint={
              owned === undefined ? undefined : words.youHave(formatCoin(owned, usdcDecimals, words.usdc))
            }
            error={
              credits === undefined && text !== ''
                ? words.x402WholeCredits
                : isTooMuch
                  ? words.notEnoughLocally
                  : undefined
            }
          />
          <div class="actions">
            <Button
              kind="primary"
              submit
              busy={isBusy}
              disabled={requirement === undefined || settled !== credits || isTooMuch}
            >
              {isBusy
                ? words.steps.sending
                : words.x402Pay(requirement === undefined ? words.usdc : dollarsOf(requirement))}
            </Button>
          </div>
        </Form>
      </Card>
      <Card title={words.summary}>
        <Loaded of={offer}>
          {(known) => {
            if (known === undefined) return <p class="soft">{words.x402WholeCredits}</p>;
            if (known.requirement === undefined) return <Empty title={words.x402None} />;
            return (
              <Facts>
                <Fact label={words.youPay}>
                  <span class="number">{dollarsOf(known.requirement)}</span>
                </Fact>
                <Fact label={words.x402Chain}>
                  <bdi>{known.requirement.network}</bdi>
                </Fact>
                <Fact label={words.payTo}>
                  <Id value={known.requirement.payTo} what={words.payTo} />
                </Fact>
                <Fact label={words.youGet}>
                  <strong class="number">{formatCredits(winc ?? 0n)}</strong>
                  {gibibyte.value !== undefined && (
                    <p class="soft">
                      {words.enoughFor(formatBytes(bytesFor(winc ?? 0n, gibibyte.value.winc)))}
                    </p>
                  )}
                </Fact>
              </Facts>
            );
          }}
        </Loaded>
      </Card>
    </Columns>
  );
}

const dollarsOf = ({ maxAmountRequired }: PaymentRequirement): string =>
  formatCoin(BigInt(maxAmountRequired), usdcDecimals, words.usdc);
