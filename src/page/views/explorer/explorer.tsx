/** The explorer: which of its pages a path shows. */
import type { Place } from '../../app/location.ts';
import { AddressPage } from './address-page.tsx';
import { BlockPage } from './block-page.tsx';
import { EventsPage } from './events-page.tsx';
import { GraphqlPage } from './graphql-page.tsx';
import { LatestPage } from './latest-page.tsx';
import { ReceiptPage } from './receipt-page.tsx';
import { SearchPage } from './search-page.tsx';
import { SolanaPage } from './solana-page.tsx';
import { TagPage } from './tag-page.tsx';
import { TransactionPage } from './transaction-page.tsx';

export default function ExplorerView({ place }: { readonly place: Place }) {
  const [root = '', first = '', second = ''] = place.segments;
  if (root === 'tx') return <TransactionPage key={first} id={first} place={place} />;
  if (root === 'block') return <BlockPage key={first} what={first} />;
  if (root === 'address') return <AddressPage key={first} address={first} place={place} />;
  if (root === 'tag') return <TagPage key={place.path} name={first} value={second} />;
  if (root === 'search')
    return <SearchPage key={place.query.get('q') ?? ''} text={place.query.get('q') ?? ''} />;
  if (first === 'graphql') return <GraphqlPage place={place} />;
  if (first === 'events') return <EventsPage place={place} />;
  if (first === 'receipt') return <ReceiptPage id={place.query.get('id') ?? undefined} />;
  if (first === 'solana') return <SolanaPage key={second} signature={second} />;
  return <LatestPage place={place} />;
}
