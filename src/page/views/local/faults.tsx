/** The switchboard: each stand-in of the outside world with what it can be made to do wrong. */
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { ArweaveFaults } from '../../../formats/local-faults.ts';
import { Button } from '../../kit/button.tsx';
import { Card } from '../../kit/card.tsx';
import { Checkbox, Form, NumberField, Select, TextField } from '../../kit/form.tsx';
import { Code } from '../../kit/json.tsx';
import { Loaded, useLoad } from '../../kit/load.tsx';
import { PageTitle } from '../../kit/page-title.tsx';
import { Badge } from '../../kit/value.tsx';
import {
  clearArweaveFaults,
  readArweaveFaults,
  readFacilitatorFaults,
  readNodeRequests,
  readWebhooks,
  setArweaveFaults,
  setFacilitatorFaults,
  setWebhookFaults,
} from '../../services/local.ts';
import { texts } from '../../texts.ts';
import { useActions } from './use-action.ts';
import { wholeNumber } from './whole-number.ts';

const words = texts.local.faults;
const refreshMs = 5_000;

export function Faults() {
  return (
    <>
      <PageTitle title={words.title} note={words.note} />
      <div class="local-cards">
        <ArweaveSwitches />
        <div class="local-stack">
          <WebhookSwitches />
          <FacilitatorSwitches />
        </div>
      </div>
      <Requests />
    </>
  );
}

/** Whether anything is on, as the stand-in itself says: faults that end by themselves are off again. */
const Switch = ({ isOn }: { readonly isOn: boolean }) => (
  <Badge tone={isOn ? 'warn' : 'neutral'}>{isOn ? words.on : words.off}</Badge>
);

type Numbers<K extends string> = Readonly<Record<K, string>>;

/** Fields of numbers as they are written; empty is none. `values` is undefined where one of them is wrong. */
function useNumbers<K extends string>(
  start: Numbers<K>,
  bounds: Readonly<Record<K, readonly [number, number]>>,
) {
  const [written, setWritten] = useState(start);
  const value = (name: K): number | undefined => {
    const [least, greatest] = bounds[name];
    return wholeNumber(written[name], least, greatest);
  };
  const isWrong = (name: K): boolean => written[name].trim() !== '' && value(name) === undefined;
  const names = Object.keys(start) as K[];
  const field = (name: K, label: string, unit?: string, hint?: string) => (
    <NumberField
      label={label}
      value={written[name]}
      onInput={(text) => setWritten({ ...written, [name]: text })}
      unit={unit}
      hint={hint}
      error={isWrong(name) ? words.wrong : undefined}
    />
  );
  return { field, value, isWrong: names.some(isWrong) };
}

const most = 1_000_000;

function ArweaveSwitches() {
  const faults = useLoad(readArweaveFaults, [], { everyMs: refreshMs });
  const actions = useActions(faults.again);
  const numbers = useNumbers(
    { latencyMs: '', status: '', wrongHeight: '', count: '' },
    { latencyMs: [0, 600_000], status: [400, 599], wrongHeight: [-most, most], count: [1, most] },
  );
  const [flags, setFlags] = useState({ hang: false, truncateChunks: false, wrongChunks: false });
  const [path, setPath] = useState('');
  const [from, setFrom] = useState<'everybody' | 'clients' | 'services'>('everybody');
  const isOn = Object.keys(faults.value ?? {}).length > 0;
  const asked: ArweaveFaults = {
    ...defined('latencyMs', numbers.value('latencyMs')),
    ...defined('status', numbers.value('status')),
    ...defined('wrongHeight', numbers.value('wrongHeight')),
    ...Object.fromEntries(Object.entries(flags).filter(([, isSet]) => isSet)),
  };
  const isNothing = Object.keys(asked).length === 0;
  const apply = () =>
    actions.run('apply', async () => {
      await setArweaveFaults({
        ...asked,
        ...(path.trim() !== '' && { path: path.trim() }),
        ...(from !== 'everybody' && { from }),
        ...defined('count', numbers.value('count')),
      });
      return words.applied;
    });
  const clear = () =>
    actions.run('clear', async () => {
      await clearArweaveFaults();
      return words.cleared;
    });
  const flag = (name: keyof typeof flags) => (
    <Checkbox
      label={words[name]}
      checked={flags[name]}
      onChange={(isSet) => setFlags({ ...flags, [name]: isSet })}
    />
  );
  return (
    <FaultCard
      title={words.arweave}
      note={words.arweaveNote}
      isOn={isOn}
      canApply={!isNothing && !numbers.isWrong}
      busy={actions.busy}
      apply={apply}
      clear={clear}
    >
      {numbers.field('latencyMs', words.latencyMs, words.milliseconds)}
      {numbers.field('status', words.status, undefined, words.statusHint)}
      {flag('hang')}
      {flag('truncateChunks')}
      {flag('wrongChunks')}
      {numbers.field('wrongHeight', words.wrongHeight, words.blocks)}
      <TextField
        label={words.path}
        hint={words.pathHint}
        value={path}
        onInput={setPath}
        mono
        maxLength={200}
      />
      <Select
        label={words.from}
        value={from}
        onChange={setFrom}
        options={(['everybody', 'clients', 'services'] as const).map((value) => ({
          value,
          label: words[value],
        }))}
      />
      {numbers.field('count', words.count, words.times, words.countHint)}
    </FaultCard>
  );
}

const defined = <K extends string>(name: K, value: number | undefined) =>
  value === undefined ? {} : { [name]: value };

interface FaultCardProps {
  readonly title: string;
  readonly note: string;
  readonly isOn: boolean;
  /** What is written asks for something, and for nothing wrong. */
  readonly canApply: boolean;
  readonly busy: string | undefined;
  apply(): void;
  clear(): void;
  readonly children: ComponentChildren;
}

function FaultCard({ title, note, isOn, canApply, busy, apply, clear, children }: FaultCardProps) {
  return (
    <Card title={title} actions={<Switch isOn={isOn} />} tone={isOn ? 'warn' : 'neutral'}>
      <p class="soft">{note}</p>
      <Form onSubmit={() => canApply && apply()} busy={busy !== undefined}>
        {children}
        <div class="actions">
          <Button submit kind="primary" busy={busy === 'apply'} disabled={!canApply}>
            {words.apply}
          </Button>
          <Button busy={busy === 'clear'} disabled={!isOn} onClick={clear}>
            {words.clear}
          </Button>
        </div>
      </Form>
    </Card>
  );
}

const noWebhookFaults = { drop: 0, duplicate: 0, delayMs: 0, reverse: false, hold: false };

function WebhookSwitches() {
  const webhooks = useLoad(readWebhooks, [], { everyMs: refreshMs });
  const actions = useActions(webhooks.again);
  const numbers = useNumbers(
    { drop: '', duplicate: '', delayMs: '' },
    { drop: [0, most], duplicate: [0, most], delayMs: [0, most] },
  );
  const [flags, setFlags] = useState({ reverse: false, hold: false });
  const isOn = Object.values(webhooks.value?.faults ?? {}).some((value) => value !== 0 && value !== false);
  const asked = {
    drop: numbers.value('drop') ?? 0,
    duplicate: numbers.value('duplicate') ?? 0,
    delayMs: numbers.value('delayMs') ?? 0,
    ...flags,
  };
  const isNothing = Object.values(asked).every((value) => value === 0 || value === false);
  const set = (id: 'apply' | 'clear') =>
    actions.run(id, async () => {
      await setWebhookFaults(id === 'apply' ? asked : noWebhookFaults);
      return id === 'apply' ? words.applied : words.cleared;
    });
  return (
    <FaultCard
      title={words.card}
      note={words.cardNote}
      isOn={isOn}
      canApply={!isNothing && !numbers.isWrong}
      busy={actions.busy}
      apply={() => set('apply')}
      clear={() => set('clear')}
    >
      {numbers.field('drop', words.drop, words.messages)}
      {numbers.field('duplicate', words.duplicate, words.messages)}
      {numbers.field('delayMs', words.delayMs, words.milliseconds)}
      {(['reverse', 'hold'] as const).map((name) => (
        <Checkbox
          key={name}
          label={words[name]}
          checked={flags[name]}
          onChange={(isSet) => setFlags({ ...flags, [name]: isSet })}
        />
      ))}
    </FaultCard>
  );
}

function FacilitatorSwitches() {
  const faults = useLoad(readFacilitatorFaults, [], { everyMs: refreshMs });
  const actions = useActions(faults.again);
  const numbers = useNumbers(
    { fail: '', refuse: '', loseAnswers: '' },
    { fail: [0, most], refuse: [0, most], loseAnswers: [0, most] },
  );
  const isOn = Object.values(faults.value ?? {}).some((value) => value > 0);
  const asked = {
    fail: numbers.value('fail') ?? 0,
    refuse: numbers.value('refuse') ?? 0,
    loseAnswers: numbers.value('loseAnswers') ?? 0,
  };
  const isNothing = Object.values(asked).every((value) => value === 0);
  const set = (id: 'apply' | 'clear') =>
    actions.run(id, async () => {
      await setFacilitatorFaults(id === 'apply' ? asked : { fail: 0, refuse: 0, loseAnswers: 0 });
      return id === 'apply' ? words.applied : words.cleared;
    });
  return (
    <FaultCard
      title={words.x402}
      note={words.x402Note}
      isOn={isOn}
      canApply={!isNothing && !numbers.isWrong}
      busy={actions.busy}
      apply={() => set('apply')}
      clear={() => set('clear')}
    >
      {numbers.field('fail', words.fail, words.times)}
      {numbers.field('refuse', words.refuse, words.times)}
      {numbers.field('loseAnswers', words.loseAnswers, words.times)}
    </FaultCard>
  );
}

const shownLines = 200;

function Requests() {
  const [isOpen, setOpen] = useState(false);
  const requests = useLoad(async () => (isOpen ? await readNodeRequests() : ''), [isOpen], {
    everyMs: refreshMs,
  });
  useEffect(() => {
    if (isOpen) requests.again();
  }, [isOpen]);
  return (
    <Card title={words.requests}>
      <p class="soft">{words.requestsNote}</p>
      {isOpen ? (
        <Loaded of={requests}>
          {(text) => (
            <Code
              text={text.split('\n').slice(-shownLines).reverse().join('\n').trim()}
              what={words.requests}
            />
          )}
        </Loaded>
      ) : (
        <div class="actions">
          <Button onClick={() => setOpen(true)}>{words.showRequests}</Button>
        </div>
      )}
    </Card>
  );
}
