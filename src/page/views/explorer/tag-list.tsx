import { useState } from 'preact/hooks';
import { Button } from '../../kit/button.tsx';
import { clampText } from '../../kit/format.ts';
import { Table } from '../../kit/table.tsx';
import { Copy } from '../../kit/value.tsx';
import { texts } from '../../texts.ts';

interface Tag {
  readonly name: string;
  readonly value: string;
}

const shownAtFirst = 30;
const shownValue = 300;

/** Anybody may have written anything: tags are text, cut where they are long, each in a direction of its own. */
export function TagList({ tags }: { readonly tags: readonly Tag[] }) {
  const words = texts.explorer.tagList;
  const [isWhole, setWhole] = useState(false);
  const rows = tags.slice(0, isWhole ? 1_000 : shownAtFirst).map((tag, at) => ({ ...tag, at }));
  return (
    <>
      <Table
        caption={words.caption}
        rows={rows}
        rowKey={({ at }) => String(at)}
        empty={<p class="soft">{words.none}</p>}
        columns={[
          {
            id: 'name',
            head: words.name,
            cell: ({ name }) => <bdi class="foreign">{clampText(name, 100)}</bdi>,
          },
          {
            id: 'value',
            head: words.value,
            wide: true,
            cell: ({ value }) => <bdi class="foreign">{clampText(value, shownValue)}</bdi>,
          },
          {
            id: 'actions',
            head: <span class="unseen">{words.actions}</span>,
            align: 'end',
            cell: ({ name, value }) => (
              <span class="explorer-tag-actions">
                <a href={`/tag/${encodeURIComponent(name)}/${encodeURIComponent(value)}`}>{words.findSame}</a>
                <Copy text={value} what={words.valueOf(clampText(name, 40))} />
              </span>
            ),
          },
        ]}
      />
      {tags.length > shownAtFirst && !isWhole && (
        <Button kind="quiet" small onClick={() => setWhole(true)}>
          {words.all(tags.length)}
        </Button>
      )}
    </>
  );
}
