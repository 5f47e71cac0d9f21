/** What a wallet has, what that stores, and what it may use beside it. */
import { Card, Figure, Figures } from '../../kit/card.tsx';
import { formatBytes, formatCredits, formatDollars } from '../../kit/format.ts';
import type { Balance, Rates } from '../../services/payment.ts';
import { texts } from '../../texts.ts';
import { bytesFor, worthOf } from './amounts.ts';

const words = texts.wallet.overview;

interface CreditFiguresProps {
  readonly balance: Balance;
  readonly price: Rates;
  readonly freeBytes: number | null;
}

export function CreditFigures({ balance, price, freeBytes }: CreditFiguresProps) {
  const { winc, effectiveWinc, owedWinc } = balance;
  return (
    <>
      {owedWinc > 0n && (
        <Card tone="warn">
          <p>{words.owed(formatCredits(owedWinc))}</p>
        </Card>
      )}
      <Figures>
        <Figure
          label={words.credits}
          value={formatCredits(winc)}
          note={words.creditsNote(formatDollars(worthOf(winc, price)))}
        />
        <Figure
          label={words.stores}
          value={formatBytes(bytesFor(effectiveWinc, price.winc))}
          note={words.storesNote}
          href="/wallet/prices"
        />
        {effectiveWinc > winc && (
          <Figure label={words.lent} value={formatCredits(effectiveWinc - winc)} note={words.lentNote} />
        )}
        {freeBytes !== 0 && (
          <Figure
            label={words.free}
            value={freeBytes === null ? words.freeWithoutLimit : formatBytes(freeBytes)}
            note={words.freeNote}
          />
        )}
      </Figures>
    </>
  );
}
