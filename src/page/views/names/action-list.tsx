/** Every action that was begun in this browser. */
import { Button } from '../../kit/button.tsx';
import { Card } from '../../kit/card.tsx';
import { Empty, Skeleton } from '../../kit/state.tsx';
import { Table } from '../../kit/table.tsx';
import { Time } from '../../kit/value.tsx';
import { texts } from '../../texts.ts';
import { isOpen } from './action.ts';
import { forget, nameActions } from './kept-actions.ts';
import { Cost, StageBadge } from './progress.tsx';
import { sentenceOf } from './words.ts';

const { actions: words } = texts.names;

export function ActionsView() {
  const actions = nameActions.value;
  if (actions === undefined) return <Skeleton lines={4} />;
  const finished = actions.filter((action) => !isOpen(action));
  return (
    <Card>
      <Table
        caption={words.caption}
        rows={actions}
        rowKey={({ id }) => id}
        empty={<Empty title={words.none}>{words.note}</Empty>}
        columns={[
          {
            id: 'what',
            head: words.what,
            wide: true,
            cell: (action) => (
              <a href={`/names/actions/${action.id}`}>
                <bdi>{sentenceOf(action)}</bdi>
              </a>
            ),
          },
          { id: 'state', head: words.state, cell: ({ stage }) => <StageBadge stage={stage} /> },
          { id: 'cost', head: words.cost, align: 'end', cell: (action) => <Cost action={action} /> },
          { id: 'when', head: words.when, cell: ({ createdAt }) => <Time at={createdAt} /> },
        ]}
      />
      {finished.length > 0 && (
        <div class="actions">
          <Button small onClick={() => Promise.all(finished.map(forget))}>
            {texts.names.progress.forgetAll}
          </Button>
        </div>
      )}
    </Card>
  );
}
