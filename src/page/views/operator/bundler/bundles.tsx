/** Bundles by state. */

import type { BundleReport } from '../../../../formats/admin-answers.ts';
import { navigate } from '../../../app/location.ts';
import { Card } from '../../../kit/card.tsx';
import { Select } from '../../../kit/form.tsx';
import { clampText, formatCount } from '../../../kit/format.ts';
import { Loaded, useLoad } from '../../../kit/load.tsx';
import { Empty } from '../../../kit/state.tsx';
import { Table } from '../../../kit/table.tsx';
import { Bytes, Id, Time } from '../../../kit/value.tsx';
import { askUpload } from '../../../services/operator/ask.ts';
import { texts } from '../../../texts.ts';
import { pageQuery } from '../page-query.ts';
import { Pager } from '../pager.tsx';
import { bundleHref, everyMs, root } from './place.ts';
import { BundleBadge } from './state-badge.tsx';

const words = texts.operator.bundler;

const bundleStates = [
  'open',
  'stuck',
  'planned',
  'prepared',
  'posted',
  'seeded',
  'permanent',
  'damaged',
  'dropped',
  'all',
] as const;

export function BundlesPage({ query }: { readonly query: URLSearchParams }) {
  const asked = query.get('state');
  const state = bundleStates.find((each) => each === asked) ?? 'all';
  const before = query.get('before');
  const page = useLoad(
    () =>
      askUpload<{ bundles: readonly BundleReport[]; next: string | null }>(
        'GET',
        `bundles${pageQuery({ state: state === 'all' ? undefined : state, before })}`,
      ),
    [state, before],
    { everyMs, keep: true },
  );
  return (
    <Card title={words.parts.bundles}>
      <Select
        label={words.filter}
        value={state}
        options={bundleStates.map((value) => ({ value, label: words.bundleStates[value] }))}
        onChange={(value) => navigate(value === 'all' ? root : `${root}?state=${value}`)}
      />
      <Loaded of={page}>
        {({ bundles, next }) => (
          <>
            <Table
              caption={words.parts.bundles}
              rows={bundles}
              rowKey={({ plan }) => plan}
              empty={
                <Empty title={state === 'stuck' ? words.noBundlesStuck : words.noBundles}>
                  {words.noBundlesNote}
                </Empty>
              }
              columns={[
                {
                  id: 'plan',
                  head: words.bundle,
                  cell: ({ plan, txId }) => <Id value={txId ?? plan} href={bundleHref(plan)} />,
                },
                { id: 'state', head: words.state, cell: (bundle) => <BundleBadge bundle={bundle} /> },
                {
                  id: 'why',
                  head: words.why,
                  wide: true,
                  cell: ({ why }) => <bdi class="foreign">{clampText(why, 300)}</bdi>,
                },
                { id: 'items', head: words.items, align: 'end', cell: ({ items }) => formatCount(items) },
                { id: 'bytes', head: words.bytes, align: 'end', cell: ({ bytes }) => <Bytes of={bytes} /> },
                { id: 'made', head: words.made, cell: ({ createdAt }) => <Time at={createdAt} /> },
              ]}
            />
            <Pager query={query} path={root} next={next} />
          </>
        )}
      </Loaded>
    </Card>
  );
}
