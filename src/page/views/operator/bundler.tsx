/** Uploads on their way to the chain: bundles, the items in them, what holds them up. */
import { navigate } from '../../app/location.ts';
import { Card } from '../../kit/card.tsx';
import { Tabs } from '../../kit/tabs.tsx';
import { texts } from '../../texts.ts';
import { AnnouncementsPage } from './bundler/announcements.tsx';
import { BundlePage } from './bundler/bundle.tsx';
import { BundlesPage } from './bundler/bundles.tsx';
import { ItemPage } from './bundler/item.tsx';
import { ItemsPage } from './bundler/items.tsx';
import { itemHref, root } from './bundler/place.ts';
import { Summary } from './bundler/summary.tsx';
import { FindForm } from './find-form.tsx';
import { isId } from './ids.ts';

const words = texts.operator.bundler;

interface Props {
  /** After `/operator/bundler`. */
  readonly path: readonly string[];
  readonly query: URLSearchParams;
}

export function BundlerPage({ path: [part = 'bundles', id], query }: Props) {
  if (part === 'bundle' && id !== undefined) return <BundlePage id={id} query={query} />;
  if (part === 'item' && id !== undefined) return <ItemPage id={id} />;
  return (
    <>
      <Summary />
      <Card title={words.find}>
        <FindForm
          label={words.findLabel}
          button={words.findButton}
          refusal={(sought) => (isId(sought) ? undefined : texts.operator.import.badId)}
          onFind={(sought) => navigate(itemHref(sought))}
        />
      </Card>
      <Tabs
        label={words.partsLabel}
        current={part}
        tabs={[
          { id: 'bundles', label: words.parts.bundles, href: root },
          { id: 'items', label: words.parts.items, href: `${root}/items` },
          { id: 'announcements', label: words.parts.announcements, href: `${root}/announcements` },
        ]}
      />
      {part === 'items' && <ItemsPage query={query} />}
      {part === 'announcements' && <AnnouncementsPage />}
      {part === 'bundles' && <BundlesPage query={query} />}
    </>
  );
}
