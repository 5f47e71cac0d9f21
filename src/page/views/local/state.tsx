import { useRef, useState } from 'preact/hooks';
import { Button } from '../../kit/button.tsx';
import { Card, Columns } from '../../kit/card.tsx';
import { confirmAction } from '../../kit/dialog.tsx';
import { Form, TextField } from '../../kit/form.tsx';
import { formatCount } from '../../kit/format.ts';
import { Loaded, useLoad } from '../../kit/load.tsx';
import { PageTitle } from '../../kit/page-title.tsx';
import { Empty } from '../../kit/state.tsx';
import { Table } from '../../kit/table.tsx';
import { Time } from '../../kit/value.tsx';
import {
  forgetSnapshot,
  type LocalSnapshot,
  loadState,
  makeSnapshot,
  readNetwork,
  resetNetwork,
  revertTo,
  saveState,
} from '../../services/local.ts';
import { texts } from '../../texts.ts';
import { type Actions, useActions } from './use-action.ts';

const words = texts.local.state;

export function State() {
  const network = useLoad(readNetwork, []);
  const actions = useActions(network.again);
  return (
    <>
      <PageTitle title={words.title} note={words.note} />
      <Card title={words.snapshots}>
        <p class="soft">{words.snapshotsNote}</p>
        <NewSnapshot actions={actions} />
        <Loaded of={network}>
          {({ snapshots }) => <SnapshotTable actions={actions} snapshots={snapshots.toReversed()} />}
        </Loaded>
      </Card>
      <Columns>
        <StateFile actions={actions} />
        <Card title={words.reset}>
          <p class="soft">{words.resetNote}</p>
          <div class="actions">
            <Button kind="danger" busy={actions.busy === 'reset'} onClick={() => reset(actions)}>
              {words.reset}
            </Button>
          </div>
        </Card>
      </Columns>
    </>
  );
}

async function reset(actions: Actions): Promise<void> {
  const question = { title: words.resetTitle, text: words.resetText, confirm: words.reset, danger: true };
  if (!(await confirmAction(question))) return;
  await actions.run('reset', async () => {
    await resetNetwork();
    return words.resetDone;
  });
}

interface Acting {
  readonly actions: Actions;
}

function NewSnapshot({ actions }: Acting) {
  const [name, setName] = useState('');
  return (
    <Form
      busy={actions.busy !== undefined}
      onSubmit={() =>
        actions.run('make', async () => {
          const made = await makeSnapshot(name.trim());
          setName('');
          return words.made(made.name);
        })
      }
    >
      <TextField label={words.name} hint={words.nameHint} value={name} onInput={setName} maxLength={64} />
      <div class="actions">
        <Button submit kind="primary" busy={actions.busy === 'make'}>
          {words.make}
        </Button>
      </div>
    </Form>
  );
}

function SnapshotTable({ actions, snapshots }: Acting & { readonly snapshots: readonly LocalSnapshot[] }) {
  const revert = async (name: string): Promise<void> => {
    const question = { title: words.revertTitle(name), text: words.revertText, confirm: words.revert };
    if (!(await confirmAction({ ...question, danger: true }))) return;
    await actions.run(`revert ${name}`, async () => words.reverted((await revertTo(name)).name));
  };
  const forget = (name: string) =>
    actions.run(`forget ${name}`, async () => {
      await forgetSnapshot(name);
      return words.forgotten(name);
    });
  return (
    <Table
      caption={words.caption}
      rows={snapshots}
      rowKey={({ name }) => name}
      empty={<Empty title={words.none}>{words.noneNote}</Empty>}
      columns={[
        { id: 'name', head: words.name, cell: ({ name }) => <bdi>{name}</bdi>, wide: true },
        { id: 'at', head: words.at, cell: ({ createdAt }) => <Time at={new Date(createdAt)} /> },
        { id: 'height', head: words.height, align: 'end', cell: ({ height }) => formatCount(height) },
        {
          id: 'actions',
          head: <span class="unseen">{words.actions}</span>,
          align: 'end',
          cell: ({ name }) => (
            <span class="local-row-actions">
              <Button
                small
                label={words.revertLabel(name)}
                busy={actions.busy === `revert ${name}`}
                onClick={() => revert(name)}
              >
                {words.revert}
              </Button>
              <Button
                small
                kind="quiet"
                label={words.forgetLabel(name)}
                busy={actions.busy === `forget ${name}`}
                onClick={() => forget(name)}
              >
                {words.forget}
              </Button>
            </span>
          ),
        },
      ]}
    />
  );
}

function StateFile({ actions }: Acting) {
  const input = useRef<HTMLInputElement>(null);
  const save = () =>
    actions.run('save', async () => {
      const url = URL.createObjectURL(await saveState());
      const link = document.createElement('a');
      link.href = url;
      link.download = 'state.turnpike';
      link.click();
      // The browser has taken it by then.
      setTimeout(() => URL.revokeObjectURL(url), 60_000);
      return undefined;
    });
  const load = async (file: File | undefined): Promise<void> => {
    if (file === undefined) return;
    const question = { title: words.loadTitle, text: words.loadText, confirm: words.load, danger: true };
    if (!(await confirmAction(question))) return;
    await actions.run('load', async () => {
      await loadState(file);
      return words.loaded;
    });
  };
  return (
    <Card title={words.file}>
      <p class="soft">{words.fileNote}</p>
      <div class="actions">
        <Button busy={actions.busy === 'save'} onClick={save}>
          {words.save}
        </Button>
        <Button busy={actions.busy === 'load'} onClick={() => input.current?.click()}>
          {words.load}
        </Button>
        <input
          ref={input}
          class="unseen"
          type="file"
          tabIndex={-1}
          aria-label={words.loadLabel}
          onChange={(event) => {
            const { currentTarget } = event;
            void load(currentTarget.files?.[0]).finally(() => {
              currentTarget.value = '';
            });
          }}
        />
      </div>
    </Card>
  );
}
