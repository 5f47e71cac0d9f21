/** One bundle and the items in it. */

import type { BundleReport, ItemSummary } from '../../../../formats/admin-answers.ts';
import { Card } from '../../../kit/card.tsx';
import { clampText } from '../../../kit/format.ts';
import { Loaded, useLoad } from '../../../kit/load.tsx';
import { Empty } from '../../../kit/state.tsx';
import { Table } from '../../../kit/table.tsx';
import { askUpload } from '../../../services/operator/ask.ts';
import { texts } from '../../../texts.ts';
import { pageQuery } from '../page-query.ts';
import { Pager } from '../pager.tsx';
import { BundleFacts } from './bundle-facts.tsx';
import { itemColumns } from './item-columns.tsx';
import { bundleHref, everyMs, root } from './place.ts';
import { BundleBadge } from './state-badge.tsx';

const words = texts.operator.bundler;

export function BundlePage({ id, query }: { readonly id: string; readonly query: URLSearchParams }) {
  const before = query.get('before');
  const page = useLoad(
    () =>
      askUpload<{ bundle: BundleReport; items: readonly ItemSummary[]; next: string | null }>(
        'GET',
        `bundles/${encodeURIComponent(id)}${pageQuery({ before })}`,
      ),
    [id, before],
    { everyMs, keep: true },
  );
  return (
    <>
      <p>
        <a href={root}>← {words.back}</a>
      </p>
      <Loaded of={page}>
        {({ bundle, items, next }) => (
          <>
            <Card
              title={words.bundleTitle}
              tone={bundle.stuck || bundle.watch?.damage != null ? 'bad' : 'neutral'}
            >
              <p class="operator-why">
                <BundleBadge bundle={bundle} /> <bdi class="foreign">{clampText(bundle.why, 600)}</bdi>
              </p>
              <BundleFacts bundle={bundle} />
            </Card>
            <Card title={words.itemsOf}>
              <Table
                caption={words.itemsOf}
                rows={items}
                rowKey={(item) => item.id}
                columns={itemColumns}
                empty={<Empty title={words.noItems} />}
              />
              <Pager query={query} path={bundleHref(id)} next={next} />
            </Card>
          </>
        )}
      </Loaded>
    </>
  );
}
