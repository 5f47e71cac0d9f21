/** Settings with what they mean; those that were set stand out. */
import { Empty } from '../../kit/state.tsx';
import { Table } from '../../kit/table.tsx';
import { Badge } from '../../kit/value.tsx';
import { texts } from '../../texts.ts';
import type { Variable } from './variables.ts';

const words = texts.operator.configuration;

export function VariableTable({ variables }: { readonly variables: readonly Variable[] }) {
  return (
    <Table
      caption={texts.operator.pages.configuration}
      rows={variables}
      rowKey={({ name }) => name}
      empty={<Empty title={words.none} />}
      columns={[
        {
          id: 'name',
          head: words.name,
          cell: ({ name, isSet }) => (
            <>
              <code>{name}</code> {isSet && <Badge tone="info">{words.isSet}</Badge>}
            </>
          ),
        },
        {
          id: 'value',
          head: words.value,
          cell: ({ values }) => (
            <ul class="operator-values">
              {values.map(({ value, surfaces }) => (
                <li key={value}>
                  {value === '' ? <span class="soft">{words.unset}</span> : <bdi class="mono">{value}</bdi>}
                  {values.length > 1 && <span class="soft"> ({surfaces.join(', ')})</span>}
                </li>
              ))}
            </ul>
          ),
        },
        { id: 'meaning', head: words.meaning, wide: true, cell: ({ meaning }) => meaning },
      ]}
    />
  );
}
