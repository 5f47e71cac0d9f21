/** What a payment buys, before it is made. */
import { Fact, Facts } from '../../../kit/card.tsx';
import { formatBytes, formatCredits } from '../../../kit/format.ts';
import type { PaymentPrice } from '../../../services/payment.ts';
import { texts } from '../../../texts.ts';
import { bytesFor } from '../amounts.ts';

interface Props {
  readonly price: PaymentPrice;
  readonly wincPerGibibyte: number | undefined;
  /** What is charged, as people read it. */
  readonly paid: string;
  /** Fees of cards are in the currency, those of coins in winc. */
  readonly formatFee?: (amount: number) => string;
}

const words = texts.wallet.topUp;

export function Quote({ price, wincPerGibibyte, paid, formatFee = formatWinc }: Props) {
  const { winc, adjustments, fees } = price;
  return (
    <Facts>
      <Fact label={words.youPay}>
        <span class="number">{paid}</span>
      </Fact>
      {adjustments.map(({ name }) => (
        <Fact key={name} label={words.discount}>
          <bdi>{name}</bdi>
        </Fact>
      ))}
      {fees.map(({ name, adjustmentAmount }) => (
        <Fact key={name} label={words.fee}>
          <bdi>{name}</bdi>: <span class="number">{formatFee(Math.abs(Number(adjustmentAmount)))}</span>{' '}
          <span class="soft">{words.feeNote}</span>
        </Fact>
      ))}
      <Fact label={words.youGet}>
        <strong class="number">{formatCredits(winc)}</strong>
        {wincPerGibibyte !== undefined && (
          <p class="soft">{words.enoughFor(formatBytes(bytesFor(winc, wincPerGibibyte)))}</p>
        )}
      </Fact>
    </Facts>
  );
}

const formatWinc = (amount: number): string => formatCredits(BigInt(Math.round(amount)));
