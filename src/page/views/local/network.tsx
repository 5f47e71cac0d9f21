import { useState } from 'preact/hooks';
import { Button } from '../../kit/button.tsx';
import { Card, Fact, Facts, Figure, Figures } from '../../kit/card.tsx';
import { Form, NumberField, Select, TextField } from '../../kit/form.tsx';
import { clampText, formatCount, formatDuration, formatTime } from '../../kit/format.ts';
import { Loaded, useLoad } from '../../kit/load.tsx';
import { PageTitle } from '../../kit/page-title.tsx';
import { Table } from '../../kit/table.tsx';
import { Copy } from '../../kit/value.tsx';
import { useLive } from '../../services/live.ts';
import {
  advanceClock,
  type LocalNetwork,
  type MiningMode,
  mineBlocks,
  readNetwork,
  setClock,
  setMining,
  takeBlocksBack,
} from '../../services/local.ts';
import { texts } from '../../texts.ts';
import { type Actions, useActions } from './use-action.ts';
import { wholeNumber } from './whole-number.ts';

const words = texts.local.network;
const refreshMs = 5_000;
const maxBlocks = 1_000;
const maxIntervalMs = 3_600_000;
const maxDepth = 50;

export function Network() {
  const network = useLoad(readNetwork, [], { everyMs: refreshMs });
  const actions = useActions(network.again);
  return (
    <>
      <PageTitle title={words.title} note={words.note} />
      <Loaded of={network}>
        {(value) => (
          <>
            <NetworkFigures network={value} />
            <div class="local-cards">
              <Mine actions={actions} />
              <Mining actions={actions} network={value} />
              <TimeTravel actions={actions} />
              <TakeBack actions={actions} />
            </div>
            <Card title={words.addresses}>
              <Addresses network={value} />
            </Card>
          </>
        )}
      </Loaded>
    </>
  );
}

interface Shown {
  readonly network: LocalNetwork;
}

function NetworkFigures({ network: { height, clock, mining, fork } }: Shown) {
  const { state } = useLive();
  const newest = Math.max(height ?? 0, state?.height ?? 0);
  const ahead = clock.offsetSeconds * 1_000;
  const mode = mining === undefined ? '–' : words.modes[mining.mode];
  return (
    <>
      <Figures>
        <Figure label={words.height} value={formatCount(newest)} href={`/block/${newest}`} />
        <Figure
          label={words.mempool}
          value={state?.mempool === undefined ? '–' : formatCount(state.mempool)}
        />
      </Figures>
      <Card>
        <Facts>
          <Fact label={words.clock}>
            {formatTime(new Date(clock.now))}{' '}
            <span class="soft">
              {ahead === 0 ? words.clockSame : words.clockAhead(formatDuration(ahead))}
            </span>
          </Fact>
          <Fact label={words.mining}>{mode}</Fact>
          <Fact label={words.fork}>
            {fork === null ? words.noFork : <bdi>{clampText(fork.gateway ?? fork.solana ?? '', 80)}</bdi>}{' '}
            {fork !== null && <span class="soft">{words.forkNote}</span>}
          </Fact>
        </Facts>
      </Card>
    </>
  );
}

interface Acting {
  readonly actions: Actions;
}

function Mine({ actions }: Acting) {
  const [text, setText] = useState('10');
  const count = wholeNumber(text, 1, maxBlocks);
  const mine = (blocks: number) => async () => words.mined((await mineBlocks(blocks)).height);
  return (
    <Card title={words.mineTitle}>
      <p class="soft">{words.mineNote}</p>
      <Form
        onSubmit={() => count !== undefined && actions.run('mine-many', mine(count))}
        busy={actions.busy !== undefined}
      >
        <NumberField
          label={words.blocks}
          value={text}
          onInput={setText}
          error={count === undefined ? words.blocksWrong : undefined}
        />
        <div class="actions">
          <Button kind="primary" busy={actions.busy === 'mine'} onClick={() => actions.run('mine', mine(1))}>
            {words.mineOne}
          </Button>
          <Button submit busy={actions.busy === 'mine-many'} disabled={count === undefined}>
            {words.mineMany(count ?? 0)}
          </Button>
        </div>
      </Form>
    </Card>
  );
}

function Mining({ actions, network: { mining } }: Acting & Shown) {
  const [mode, setMode] = useState<MiningMode>(mining?.mode ?? 'demand');
  const [text, setText] = useState(String(mining?.intervalMs || 1_000));
  const intervalMs = wholeNumber(text, 1, maxIntervalMs);
  const hasInterval = mode === 'demand' || mode === 'interval';
  const isWrong = hasInterval && intervalMs === undefined;
  return (
    <Card title={words.modeTitle}>
      <Form
        onSubmit={() => {
          if (isWrong) return;
          actions.run('mode', async () => {
            await setMining(mode, hasInterval ? intervalMs : undefined);
            return texts.local.changed;
          });
        }}
        busy={actions.busy !== undefined}
      >
        <Select
          label={words.mode}
          value={mode}
          onChange={setMode}
          options={(Object.keys(words.modes) as MiningMode[]).map((value) => ({
            value,
            label: words.modes[value],
          }))}
        />
        {hasInterval && (
          <NumberField
            label={words.interval}
            value={text}
            onInput={setText}
            unit={words.milliseconds}
            error={isWrong ? words.intervalWrong : undefined}
          />
        )}
        <div class="actions">
          <Button submit busy={actions.busy === 'mode'} disabled={isWrong}>
            {words.saveMode}
          </Button>
        </div>
      </Form>
    </Card>
  );
}

const spans = [
  ['hour', 3_600],
  ['day', 86_400],
  ['month', 30 * 86_400],
  ['year', 365 * 86_400],
] as const;

function TimeTravel({ actions }: Acting) {
  const [moment, setMoment] = useState('');
  const travelled = ({ now }: LocalNetwork['clock']) => words.travelled(formatTime(new Date(now)));
  const isMoment = !Number.isNaN(Date.parse(moment));
  return (
    <Card title={words.timeTitle}>
      <p class="soft">{words.timeNote}</p>
      <div class="actions">
        {spans.map(([id, seconds]) => (
          <Button
            key={id}
            busy={actions.busy === id}
            onClick={() => actions.run(id, async () => travelled(await advanceClock(seconds)))}
          >
            {words[id]}
          </Button>
        ))}
      </div>
      <Form
        busy={actions.busy !== undefined}
        onSubmit={() => {
          if (!isMoment) return;
          actions.run('travel', async () => travelled(await setClock(new Date(moment).toISOString())));
        }}
      >
        <TextField label={words.moment} type="datetime-local" value={moment} onInput={setMoment} />
        <div class="actions">
          <Button submit busy={actions.busy === 'travel'} disabled={!isMoment}>
            {words.travel}
          </Button>
        </div>
      </Form>
    </Card>
  );
}

function TakeBack({ actions }: Acting) {
  const [text, setText] = useState('1');
  const depth = wholeNumber(text, 1, maxDepth);
  return (
    <Card title={words.reorgTitle}>
      <p class="soft">{words.reorgNote}</p>
      <Form
        busy={actions.busy !== undefined}
        onSubmit={() => {
          if (depth === undefined) return;
          actions.run('reorg', async () => words.reorged((await takeBlocksBack(depth)).height));
        }}
      >
        <NumberField
          label={words.depth}
          value={text}
          onInput={setText}
          error={depth === undefined ? words.depthWrong : undefined}
        />
        <div class="actions">
          <Button submit busy={actions.busy === 'reorg'} disabled={depth === undefined}>
            {words.reorg}
          </Button>
        </div>
      </Form>
    </Card>
  );
}

function Addresses({ network: { addresses } }: Shown) {
  return (
    <Table
      caption={words.addresses}
      rows={addresses}
      rowKey={({ name }) => name}
      columns={[
        { id: 'name', head: words.addressName, cell: ({ name }) => name },
        {
          id: 'url',
          head: words.addressUrl,
          cell: ({ name, url }) => (
            <span class="id">
              <bdi>{url}</bdi> <Copy text={url} what={words.addressCopy(name)} />
            </span>
          ),
        },
        {
          id: 'what',
          head: words.addressWhat,
          cell: ({ what }) => <bdi class="local-what">{what}</bdi>,
          wide: true,
        },
      ]}
    />
  );
}
