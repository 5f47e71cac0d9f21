/** Webhooks of one owner: how each goes, what it did not take, and a new one. */
import { useState } from 'preact/hooks';
import { Button } from '../../kit/button.tsx';
import { Card, Fact, Facts } from '../../kit/card.tsx';
import { confirmAction, Dialog } from '../../kit/dialog.tsx';
import { Checkbox, Form, TextArea, TextField } from '../../kit/form.tsx';
import { clampText, formatCount } from '../../kit/format.ts';
import { Loaded, useLoad } from '../../kit/load.tsx';
import { notify } from '../../kit/notify.tsx';
import { Empty } from '../../kit/state.tsx';
import { Table } from '../../kit/table.tsx';
import type { Tone } from '../../kit/tone.ts';
import { Badge, Copy, Id, Time } from '../../kit/value.tsx';
import type { AskHooks, DeadLetter, Hook, HookWithSecret, Resent } from '../../services/hooks.ts';
import { texts } from '../../texts.ts';

const words = texts.hooks;
const everyMs = 3_000;

interface HooksProps {
  /** Changes with the owner. */
  readonly owner: string;
  readonly ask: AskHooks;
  /** What can be told, by kind. */
  readonly types: Readonly<Record<string, readonly string[]>>;
  /** Whether a filter of the gateway's language can narrow it. */
  readonly filtered?: boolean;
}

export function Hooks({ owner, ask, types, filtered = false }: HooksProps) {
  const hooks = useLoad(() => ask<{ hooks: readonly Hook[] }>('GET', ''), [owner], { everyMs });
  const [secret, setSecret] = useState<string | undefined>(undefined);
  const made = (hook: HookWithSecret): void => {
    setSecret(hook.secret);
    hooks.again();
  };
  return (
    <>
      <Loaded of={hooks}>
        {(found) =>
          found.hooks.length === 0 ? (
            <Card>
              <Empty title={words.none}>{words.noneNote}</Empty>
            </Card>
          ) : (
            found.hooks.map((hook) => (
              <HookCard key={hook.id} hook={hook} ask={ask} changed={hooks.again} told={setSecret} />
            ))
          )
        }
      </Loaded>
      <NewHook ask={ask} types={types} filtered={filtered} made={made} />
      <Dialog open={secret !== undefined} title={words.secret} onClose={() => setSecret(undefined)}>
        <p>{words.secretNote}</p>
        <p class="hook-secret">
          <code>{secret}</code> <Copy text={secret ?? ''} what={words.secret} />
        </p>
        <div class="actions">
          <Button kind="primary" onClick={() => setSecret(undefined)}>
            {words.kept}
          </Button>
        </div>
      </Dialog>
    </>
  );
}

const tones: Readonly<Record<Hook['state'], Tone>> = {
  active: 'good',
  failing: 'bad',
  paused: 'neutral',
  ended: 'bad',
};

interface HookCardProps {
  readonly hook: Hook;
  readonly ask: AskHooks;
  readonly changed: () => void;
  readonly told: (secret: string) => void;
}

function HookCard({ hook, ask, changed, told }: HookCardProps) {
  const [isBusy, setBusy] = useState(false);
  const run = async (work: () => Promise<string | undefined>): Promise<void> => {
    setBusy(true);
    try {
      const text = await work();
      if (text !== undefined) notify({ tone: 'good', text });
    } catch (error) {
      notify({ tone: 'bad', text: (error as Error).message });
    }
    setBusy(false);
    changed();
  };
  const act = (action: 'pause' | 'resume' | 'ping') =>
    run(async () => {
      await ask('POST', `/${hook.id}/${action}`);
      return words.done[action];
    });
  const rotate = async (): Promise<void> => {
    if (!(await confirmAction({ title: words.rotate, text: words.rotateText, confirm: words.rotate })))
      return;
    await run(async () => {
      told((await ask<HookWithSecret>('POST', `/${hook.id}/rotate`)).secret);
      return undefined;
    });
  };
  const remove = async (): Promise<void> => {
    const question = { title: words.remove, text: words.removeText, confirm: words.remove, danger: true };
    if (!(await confirmAction(question))) return;
    await run(async () => {
      await ask('DELETE', `/${hook.id}`);
      return words.removed;
    });
  };
  const isOn = hook.state === 'active' || hook.state === 'failing';
  return (
    <Card
      title={
        <bdi class="foreign">{clampText(hook.description === '' ? hook.url : hook.description, 80)}</bdi>
      }
      tone={tones[hook.state] === 'bad' ? 'bad' : 'neutral'}
      actions={<Badge tone={tones[hook.state]}>{words.states[hook.state]}</Badge>}
    >
      <Facts>
        <Fact label={words.address}>
          <bdi class="foreign">{clampText(hook.url, 200)}</bdi>
        </Fact>
        <Fact label={words.told}>{describeQuery(hook.query)}</Fact>
        <Fact label={words.delivered}>{formatCount(hook.delivered)}</Fact>
        <Fact label={words.lastTaken}>
          {hook.lastTakenAt === null ? words.never : <Time at={hook.lastTakenAt} />}
        </Fact>
        {hook.lastError !== null && <Fact label={words.lastError}>{clampText(hook.lastError, 200)}</Fact>}
        {hook.nextTryAt !== null && (
          <Fact label={words.nextTry}>
            <Time at={hook.nextTryAt} />
          </Fact>
        )}
        <Fact label={words.id}>
          <Id value={hook.id} />
        </Fact>
      </Facts>
      {hook.deadLetters > 0 && <DeadLetters hook={hook} ask={ask} changed={changed} />}
      <div class="actions">
        <Button small busy={isBusy} onClick={() => void act(isOn ? 'pause' : 'resume')}>
          {isOn ? words.pause : words.resume}
        </Button>
        {isOn && (
          <Button small busy={isBusy} onClick={() => void act('ping')}>
            {words.ping}
          </Button>
        )}
        <Button small busy={isBusy} onClick={() => void rotate()}>
          {words.rotate}
        </Button>
        <Button small kind="danger" busy={isBusy} onClick={() => void remove()}>
          {words.remove}
        </Button>
      </div>
    </Card>
  );
}

function DeadLetters({ hook, ask, changed }: Omit<HookCardProps, 'told'>) {
  const letters = useLoad(
    () => ask<{ letters: readonly DeadLetter[] }>('GET', `/${hook.id}/dead`),
    [hook.id, hook.deadLetters],
    { keep: true },
  );
  const [busy, setBusy] = useState<string | undefined>(undefined);
  const act = async (letter: DeadLetter, work: () => Promise<string>): Promise<void> => {
    setBusy(letter.id);
    try {
      notify({ tone: 'good', text: await work() });
    } catch (error) {
      notify({ tone: 'bad', text: (error as Error).message });
    }
    setBusy(undefined);
    letters.again();
    changed();
  };
  const resend = (letter: DeadLetter) =>
    act(letter, async () => {
      const { taken, error } = await ask<Resent>('POST', `/${hook.id}/dead/${letter.id}/resend`);
      if (!taken) throw new Error(words.notTaken(error ?? ''));
      return words.resent;
    });
  const drop = (letter: DeadLetter) =>
    act(letter, async () => {
      await ask('DELETE', `/${hook.id}/dead/${letter.id}`);
      return words.dropped;
    });
  return (
    <>
      <h3>{words.dead}</h3>
      <p class="soft">{words.deadNote}</p>
      <Loaded of={letters}>
        {(found) => (
          <Table
            caption={words.dead}
            rows={found.letters}
            rowKey={({ id }) => id}
            columns={[
              { id: 'when', head: words.givenUp, cell: ({ deadAt }) => <Time at={deadAt} /> },
              { id: 'events', head: words.events, align: 'end', cell: ({ events }) => formatCount(events) },
              { id: 'why', head: words.why, wide: true, cell: ({ error }) => clampText(error, 200) },
              {
                id: 'action',
                head: '',
                align: 'end',
                cell: (letter) => (
                  <span class="hook-letter-actions">
                    <Button small busy={busy === letter.id} onClick={() => void resend(letter)}>
                      {words.resend}
                    </Button>
                    <Button small busy={busy === letter.id} onClick={() => void drop(letter)}>
                      {words.drop}
                    </Button>
                  </span>
                ),
              },
            ]}
          />
        )}
      </Loaded>
    </>
  );
}

/** `item.mined, item.final`, or that it is everything. */
function describeQuery(query: unknown): string {
  const { types, filter } = (query ?? {}) as { types?: unknown; filter?: unknown };
  const named = Array.isArray(types) ? types.join(', ') : words.everything;
  return clampText(filter === undefined ? named : `${named}; ${JSON.stringify(filter)}`, 300);
}

interface NewHookProps extends Pick<HooksProps, 'ask' | 'types'> {
  readonly filtered: boolean;
  readonly made: (hook: HookWithSecret) => void;
}

function NewHook({ ask, types, filtered, made }: NewHookProps) {
  const [url, setUrl] = useState('');
  const [description, setDescription] = useState('');
  const [filter, setFilter] = useState('');
  const [chosen, choose] = useState<ReadonlySet<string>>(new Set());
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState<Error | undefined>(undefined);
  const submit = async (): Promise<void> => {
    setBusy(true);
    setFailure(undefined);
    try {
      const query = {
        ...(chosen.size > 0 && { types: [...chosen] }),
        ...(filter.trim() !== '' && { filter: parseFilter(filter) }),
      };
      made(
        await ask<HookWithSecret>('POST', '', { url: url.trim(), description: description.trim(), query }),
      );
      setUrl('');
      setDescription('');
      setFilter('');
      choose(new Set());
    } catch (error) {
      setFailure(error as Error);
    }
    setBusy(false);
  };
  const toggle = (type: string, isChosen: boolean): void => {
    const next = new Set(chosen);
    if (isChosen) next.add(type);
    else next.delete(type);
    choose(next);
  };
  return (
    <Card title={words.add}>
      <Form onSubmit={() => void submit()} busy={isBusy} error={failure}>
        <TextField
          label={words.address}
          hint={words.addressHint}
          type="url"
          mono
          value={url}
          onInput={setUrl}
          placeholder="https://example.com/hook"
          maxLength={2_048}
        />
        <TextField
          label={words.description}
          hint={words.descriptionHint}
          value={description}
          onInput={setDescription}
          maxLength={256}
        />
        <fieldset class="hook-types">
          <legend>{words.types}</legend>
          <span class="hint">{words.typesHint}</span>
          <div class="hook-kinds">
            {Object.entries(types).map(([kind, names]) => (
              <div key={kind}>
                <span class="soft">{kind}</span>
                {names.map((type) => (
                  <Checkbox
                    key={type}
                    label={<code>{type}</code>}
                    checked={chosen.has(type)}
                    onChange={(isChosen) => toggle(type, isChosen)}
                  />
                ))}
              </div>
            ))}
          </div>
        </fieldset>
        {filtered && (
          <TextArea
            label={words.filter}
            hint={words.filterHint}
            mono
            rows={2}
            value={filter}
            onInput={setFilter}
            placeholder='{"tags":[{"name":"App-Name","value":"my-app"}]}'
            maxLength={8_192}
          />
        )}
        <div class="actions">
          <Button kind="primary" submit busy={isBusy}>
            {words.add}
          </Button>
        </div>
      </Form>
    </Card>
  );
}

function parseFilter(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(words.filterWrong);
  }
}
