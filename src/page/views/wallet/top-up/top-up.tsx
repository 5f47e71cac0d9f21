/** Every way to buy credits, each at an address of its own; below it what is under way. */
import type { Place } from '../../../app/location.ts';
import { PageTitle } from '../../../kit/page-title.tsx';
import { Tabs } from '../../../kit/tabs.tsx';
import { texts } from '../../../texts.ts';
import { wallet } from '../../../wallet/wallet.ts';
import { addressKind } from '../../explorer/addresses.ts';
import { NeedWallet } from '../need-wallet.tsx';
import { CardTopUp, type CreditedWallet } from './card.tsx';
import { CoinTopUp } from './coin.tsx';
import { PurchasePage } from './purchase-page.tsx';
import { Purchases } from './purchases.tsx';
import { X402TopUp } from './x402.tsx';

const ways = ['card', 'coin', 'x402', 'gift'] as const;
const words = texts.wallet.topUp;

/** Somebody else's wallet, which anybody may pay for by card. */
function otherWallet(address: string | null): CreditedWallet | undefined {
  const kind = address === null ? undefined : addressKind(address);
  return address === null || kind === undefined ? undefined : { address, kind };
}

export function TopUp({ place }: { readonly place: Place }) {
  const [, , part, id] = place.segments;
  if (part === 'payment' && id !== undefined) return <PurchasePage key={id} id={id} place={place} />;
  const way = ways.find((known) => known === part) ?? 'card';
  const current = wallet.value;
  const other = otherWallet(place.query.get('for'));
  if (other !== undefined && other.address !== current?.address) {
    return (
      <>
        <PageTitle
          title={words.title}
          note={
            <>
              {words.forWallet} <bdi class="mono">{other.address}</bdi>
            </>
          }
        />
        <CardTopUp key={other.address} of={other} />
        <Purchases />
      </>
    );
  }
  return (
    <>
      <PageTitle title={words.title} note={words.note} />
      <Tabs
        label={words.ways}
        current={way}
        tabs={ways.map((each) => ({ id: each, label: words[each], href: `/wallet/top-up/${each}` }))}
      />
      {way === 'gift' ? (
        <CardTopUp gift key="gift" />
      ) : current === undefined ? (
        <NeedWallet />
      ) : (
        <>
          {way === 'card' && <CardTopUp key={current.address} of={current} />}
          {way === 'coin' && <CoinTopUp key={current.address} of={current} />}
          {way === 'x402' && <X402TopUp key={current.address} of={current} />}
        </>
      )}
      <Purchases />
    </>
  );
}
