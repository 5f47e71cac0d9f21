/** The books: whether they are right, what needs a person, and what a person may change in them. */
import { Tabs } from '../../kit/tabs.tsx';
import { texts } from '../../texts.ts';
import { AccountsPart } from './ledger/accounts.tsx';
import { Check } from './ledger/check.tsx';
import { GiftsPart } from './ledger/gifts.tsx';
import { LossesPart } from './ledger/losses.tsx';
import { OpenPart } from './ledger/open.tsx';
import { PaymentsPart } from './ledger/payments.tsx';
import { root } from './ledger/place.ts';
import { PricesPart } from './ledger/prices.tsx';

const words = texts.operator.ledger;

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
