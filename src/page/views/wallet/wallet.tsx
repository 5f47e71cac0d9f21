/** Who pays: the wallet in use, its credits, and every way to get, lend and understand them. */
import type { Place } from '../../app/location.ts';
import { Tabbed } from '../../kit/page-title.tsx';
import { Tabs } from '../../kit/tabs.tsx';
import { texts } from '../../texts.ts';
import { AccountPage } from './account-page.tsx';
import { Notices } from './notices.tsx';
import { Overview } from './overview.tsx';
import { Prices } from './prices.tsx';
import { Redeem } from './redeem.tsx';
import { Share } from './share.tsx';
import { TopUp } from './top-up/top-up.tsx';
import { Webhooks } from './webhooks.tsx';

const pages = ['overview', 'top-up', 'share', 'redeem', 'prices', 'notices', 'webhooks', 'account'] as const;
type Page = (typeof pages)[number];

export default function WalletView({ place }: { readonly place: Place }) {
  // The account of any wallet has a path of its own, which people hand to others.
  const isAccount = place.segments[0] === 'account';
  const page = isAccount ? 'account' : (pages.find((known) => known === place.segments[1]) ?? 'overview');
  const words = texts.wallet.tabs;
  const labels: Readonly<Record<Page, string>> = {
    overview: words.overview,
    'top-up': words.topUp,
    share: words.share,
    redeem: words.redeem,
    prices: words.prices,
    notices: words.notices,
    webhooks: words.webhooks,
    account: words.account,
  };
  return (
    <Tabbed>
      <Tabs
        label={words.label}
        current={page}
        tabs={pages.map((id) => ({
          id,
          label: labels[id],
          href: id === 'overview' ? '/wallet' : id === 'account' ? '/account' : `/wallet/${id}`,
        }))}
      />
      {page === 'overview' && <Overview />}
      {page === 'top-up' && <TopUp place={place} />}
      {page === 'share' && <Share />}
      {page === 'redeem' && <Redeem place={place} />}
      {page === 'prices' && <Prices place={place} />}
      {page === 'notices' && <Notices />}
      {page === 'webhooks' && <Webhooks />}
      {page === 'account' && <AccountPage place={place} />}
    </Tabbed>
  );
}
