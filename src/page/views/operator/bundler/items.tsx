/** Items that wait, are planned or failed. */

import type { ItemSummary } from '../../../../formats/admin-answers.ts';
import { navigate } from '../../../app/location.ts';
import { Card } from '../../../kit/card.tsx';
import { Select } from '../../../kit/form.tsx';
import { Loaded, useLoad } from '../../../kit/load.tsx';
import { Empty } from '../../../kit/state.tsx';
import { Table } from '../../../kit/table.tsx';
import { askUpload } from '../../../services/operator/ask.ts';
import { texts } from '../../../texts.ts';
import { pageQuery } from '../page-query.ts';
import { Pager } from '../pager.tsx';
import { itemColumns } from './item-columns.tsx';
import { everyMs, root } from './place.ts';

const words = texts.operator.bundler;

const itemStates = ['new', 'planned', 'failed'] as const;

export function ItemsPage({ query }: { readonly query: URLSearchParams }) {
  const asked = query.get('state');
  const state = itemStates.find((each) => each === asked) ?? 'new';
  const before = query.get('before');
  const page = useLoad(
    () =>
      askUpload<{ items: readonly ItemSummary[]; next: string | null }>(
        'GET',
        `items${pageQuery({ state, before })}`,
      ),
    [state, before],
    { everyMs, keep: true },
  );
  return (
    <Card title={words.parts.items}>
      <Select
        label={words.filter}
        value={state}
        options={itemStates.map((value) => ({ value, label: words.itemStates[value] }))}
        onChange={(value) => navigate(`${root}/items?state=${value}`)}
      />
      <Loaded of={page}>
        {({ items, next }) => (
          <>
            <Table
              caption={words.parts.items}
              rows={items}
              rowKey={({ id }) => id}
              columns={itemColumns}
              empty={<Empty title={words.noItems} />}
            />
            <Pager query={query} path={`${root}/items`} next={next} />
          </>
        )}
      </Loaded>
    </Card>
  );
}
