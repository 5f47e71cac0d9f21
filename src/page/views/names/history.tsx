/** What was done with a name, as the chain tells it. */

import { Card } from '../../kit/card.tsx';
import { shortId } from '../../kit/format.ts';
import { Loaded, useLoad } from '../../kit/load.tsx';
import { Empty, Skeleton } from '../../kit/state.tsx';
import { Table } from '../../kit/table.tsx';
import { Badge, Id, Time } from '../../kit/value.tsx';
import { type NameEvent, readHistory } from '../../services/names.ts';
import { texts } from '../../texts.ts';
import { chainStepText } from './progress.tsx';
import { completedOf } from './search.tsx';

const { name: words } = texts.names;

export function HistoryTab({ name }: { readonly name: string }) {
  const load = useLoad((abort) => readHistory(name, abort), [name, completedOf(name)], { keep: true });
  return (
    <Card title={words.tabs.history}>
      <p class="soft">{words.historyNote}</p>
      <Loaded of={load} skeleton={<Skeleton lines={5} />}>
        {(events) => (
          <Table
            caption={words.historyCaption}
            rows={events ?? []}
            rowKey={({ signature }) => signature}
            empty={<Empty title={words.historyNone} />}
            columns={[
              {
                id: 'when',
                head: words.when,
                cell: ({ at }) => (at === undefined ? '–' : <Time at={new Date(at)} />),
              },
              {
                id: 'what',
                head: texts.names.actions.what,
                wide: true,
                cell: (event) => <Steps event={event} />,
              },
              {
                id: 'transaction',
                head: words.transaction,
                cell: ({ signature }) => <Id value={signature} />,
              },
            ]}
          />
        )}
      </Loaded>
    </Card>
  );
}

/** Steps that keep lists in order say nothing about the name. */
const isBookkeeping = (instruction: string): boolean => instruction.includes('acl');

function Steps({ event: { steps, failed } }: { readonly event: NameEvent }) {
  const told = steps.filter(({ instruction }) => !isBookkeeping(instruction));
  return (
    <>
      {failed && <Badge tone="bad">{words.failed}</Badge>}
      <ul>
        {told.map(({ instruction, values }, index) => (
          <li key={index}>
            {chainStepText(instruction) ?? instruction}
            <Values values={values} />
          </li>
        ))}
      </ul>
    </>
  );
}

/** The arguments that people ask about. */
function Values({
  values: { undername, target, years, controller },
}: {
  readonly values: Readonly<Record<string, string>>;
}) {
  const parts = [
    undername,
    target !== undefined && shortId(target),
    years !== undefined && years !== '0' && texts.names.search.years(Number(years)),
    controller !== undefined && shortId(controller),
  ].filter((part) => part !== undefined && part !== false);
  if (parts.length === 0) return null;
  return (
    <bdi class="soft foreign">
      {': '}
      {parts.join(' → ')}
    </bdi>
  );
}
