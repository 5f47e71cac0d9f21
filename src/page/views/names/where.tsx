/** What each gateway that the service knows shows for a name, beside what the chain says. */
import { useState } from 'preact/hooks';
import type { GatewayView, WhereAnswer } from '../../../formats/name-where.ts';
import { labelOf } from '../../../formats/solana/name-rules.ts';
import { Button } from '../../kit/button.tsx';
import { Card, Fact, Facts } from '../../kit/card.tsx';
import { Select } from '../../kit/form.tsx';
import { formatDuration } from '../../kit/format.ts';
import { Loaded, useLoad } from '../../kit/load.tsx';
import { Empty, Skeleton } from '../../kit/state.tsx';
import { Table } from '../../kit/table.tsx';
import { Badge, Id } from '../../kit/value.tsx';
import { type NameNow, readWhere } from '../../services/names.ts';
import { texts } from '../../texts.ts';
import { completedOf } from './search.tsx';

const { where: words, nothing } = texts.names.name;

/** As often as the service asks the gateways. */
const everyMs = 10_000;
const tones = { current: 'good', stale: 'warn', silent: 'bad' } as const;

export function WhereTab({ now: { name, records } }: { readonly now: NameNow }) {
  const [undername, setUndername] = useState('@');
  const label = labelOf(name, undername);
  const load = useLoad((abort) => readWhere(label, abort), [label, completedOf(name)], {
    everyMs,
    keep: true,
  });
  const undernames = (records ?? []).map((record) => record.undername);
  return (
    <Card title={words.title}>
      <p class="soft">{words.note}</p>
      {undernames.length > 1 && (
        <div class="names-which">
          <Select
            label={words.label}
            value={undername}
            onChange={setUndername}
            options={undernames.map((value) => ({ value, label: labelOf(name, value) }))}
          />
        </div>
      )}
      <Loaded of={load} skeleton={<Skeleton lines={4} />}>
        {(found) =>
          found === undefined ? (
            <Empty title={words.unsupported} />
          ) : (
            <>
              <Summary found={found} />
              <Gateways views={found.gateways} />
              <div class="actions">
                <Button small onClick={load.again}>
                  {words.askAgain}
                </Button>
              </div>
            </>
          )
        }
      </Loaded>
    </Card>
  );
}

function Summary({ found: { target, gateways } }: { readonly found: WhereAnswer }) {
  const count = (state: GatewayView['state']): number =>
    gateways.filter((view) => view.state === state).length;
  const [behind, silent] = [count('stale'), count('silent')];
  return (
    <>
      <Facts>
        <Fact label={words.chainSays}>
          {target === null ? (
            <span class="soft">{nothing}</span>
          ) : (
            <Id value={target} href={`/tx/${target}`} />
          )}
        </Fact>
      </Facts>
      {gateways.length > 0 && (
        <p role="status">
          {behind > 0 ? words.behind(behind, gateways.length) : silent === 0 && words.all(gateways.length)}{' '}
          {silent > 0 && words.silent(silent)}
        </p>
      )}
    </>
  );
}

function Gateways({ views }: { readonly views: readonly GatewayView[] }) {
  return (
    <Table
      caption={words.caption}
      rows={views}
      rowKey={({ gateway }) => gateway}
      empty={<Empty title={words.none}>{words.noneNote}</Empty>}
      columns={[
        {
          id: 'gateway',
          head: words.gateway,
          cell: ({ gateway }) => <bdi class="names-gateway">{gateway}</bdi>,
        },
        { id: 'shows', head: words.shows, wide: true, cell: (view) => <Shown view={view} /> },
      ]}
    />
  );
}

function Shown({ view: { state, target, problem, secondsLeft } }: { readonly view: GatewayView }) {
  return (
    <div class="names-shown">
      <Badge tone={tones[state]}>{words.state[state]}</Badge>
      {target !== null && <Id value={target} href={`/tx/${target}`} />}
      {target === null && state !== 'silent' && <span class="soft">{nothing}</span>}
      {problem !== undefined && <bdi class="soft foreign">{problem}</bdi>}
      {secondsLeft !== undefined && <span class="soft">{againText(secondsLeft)}</span>}
    </div>
  );
}

const againText = (secondsLeft: number): string =>
  secondsLeft === 0 ? words.againNow : words.again(formatDuration(secondsLeft * 1_000));
