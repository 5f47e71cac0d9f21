/** The router's own blocklist: what is on it, and how something gets on it and off it. */
import { Button } from '../../../kit/button.tsx';
import { Card } from '../../../kit/card.tsx';
import { confirmAction } from '../../../kit/dialog.tsx';
import { clampText } from '../../../kit/format.ts';
import { type Load, Loaded } from '../../../kit/load.tsx';
import { Table } from '../../../kit/table.tsx';
import { Time } from '../../../kit/value.tsx';
import type { Ask } from '../../../services/operator/ask.ts';
import type { RouterBlock, RouterModeration } from '../../../services/operator/router.ts';
import { texts } from '../../../texts.ts';
import { useAction } from '../use-action.ts';

const words = texts.operator.moderation;

interface Props {
  readonly ask: Ask;
  readonly of: Load<RouterModeration>;
}

export function RouterBlocklist({ ask, of }: Props) {
  const action = useAction();
  const unblock = async ({ type, value }: RouterBlock): Promise<void> => {
    const question = { title: words.unblockTitle, text: words.unblockText(value), confirm: words.unblock };
    if (!(await confirmAction(question))) return;
    action.run(async () => {
      await ask('POST', 'moderation/unblock', { type, value });
      of.again();
      return words.unblocked;
    });
  };
  return (
    <Card title={words.routerList}>
      <Loaded of={of}>
        {(list) =>
          !list.enabled ? (
            <p class="soft">{words.routerOff}</p>
          ) : (
            <Table
              caption={words.routerList}
              rows={list.entries}
              rowKey={({ type, value }) => `${type} ${value}`}
              empty={<p class="soft">{words.routerEmpty}</p>}
              columns={[
                { id: 'kind', head: words.kind, cell: ({ type }) => words.rowKinds[type] },
                {
                  id: 'value',
                  head: words.what,
                  wide: true,
                  cell: ({ value }) => <bdi class="foreign">{value}</bdi>,
                },
                {
                  id: 'reason',
                  head: words.reason,
                  cell: ({ reason }) => <bdi class="foreign">{clampText(reason, 200)}</bdi>,
                },
                {
                  id: 'by',
                  head: words.by,
                  cell: ({ blockedBy }) => <bdi class="foreign">{clampText(blockedBy, 60)}</bdi>,
                },
                {
                  id: 'since',
                  head: words.since,
                  cell: ({ blockedAt }) => <Time at={new Date(blockedAt)} />,
                },
                {
                  id: 'act',
                  head: '',
                  align: 'end',
                  cell: (entry) => (
                    <Button small busy={action.busy} onClick={() => void unblock(entry)}>
                      {words.unblock}
                    </Button>
                  ),
                },
              ]}
            />
          )
        }
      </Loaded>
    </Card>
  );
}
