/** The undernames of a name: what each opens, and changing that. */
import { useState } from 'preact/hooks';
import { isArweaveId, isTtl, isUndername, labelOf } from '../../../formats/solana/name-rules.ts';
import { Button } from '../../kit/button.tsx';
import { Card } from '../../kit/card.tsx';
import { Dialog } from '../../kit/dialog.tsx';
import { Form, TextField } from '../../kit/form.tsx';
import { formatCount, formatDuration } from '../../kit/format.ts';
import { Empty } from '../../kit/state.tsx';
import { Table } from '../../kit/table.tsx';
import { Badge, Id } from '../../kit/value.tsx';
import { type NameNow, type NameRecord, nameUrl } from '../../services/names.ts';
import { texts } from '../../texts.ts';
import { isSolanaAddress } from './addresses.ts';
import { ownerWanted } from './ownership-of.ts';
import { propose } from './proposal.ts';
import { RecordFields } from './record-fields.tsx';

const { name: words } = texts.names;
const ownTtl = 900;

type Editing =
  | { readonly what: 'record'; readonly record: NameRecord | undefined }
  | { readonly what: 'hand-over'; readonly record: NameRecord };

export function UndernamesTab({ now }: { readonly now: NameNow }) {
  const [editing, setEditing] = useState<Editing | undefined>(undefined);
  const { name, antId, undernameLimit = 0 } = now;
  const records = (now.records ?? []).filter(({ undername }) => undername !== '@');
  const isKnown = now.token !== undefined;
  const close = (): void => setEditing(undefined);
  return (
    <Card
      title={words.undernames}
      actions={
        <Button
          kind="primary"
          small
          disabled={antId === undefined}
          onClick={() => setEditing({ what: 'record', record: undefined })}
        >
          {words.addUndername}
        </Button>
      }
    >
      <p class="soft">{words.undernameNote(name)}</p>
      {isKnown && <p>{words.usedOf(formatCount(records.length), formatCount(undernameLimit))}</p>}
      <Table
        caption={words.undernamesCaption}
        rows={records}
        rowKey={({ undername }) => undername}
        empty={<Empty title={isKnown ? words.noUndernames : words.unknown} />}
        columns={[
          {
            id: 'undername',
            head: words.undername,
            wide: true,
            cell: (record) => <UndernameLink name={name} record={record} limit={undernameLimit} />,
          },
          {
            id: 'target',
            head: words.target,
            cell: ({ target }) => <Id value={target} href={`/tx/${target}`} />,
          },
          { id: 'ttl', head: words.ttl, cell: ({ ttlSeconds }) => formatDuration(ttlSeconds * 1_000) },
          {
            id: 'owner',
            head: words.recordOwner,
            cell: ({ owner }) => (owner === undefined ? '–' : <Id value={owner} />),
          },
          {
            id: 'actions',
            head: <span class="unseen">{words.change}</span>,
            cell: (record) => (
              <span class="actions names-row-actions">
                <Button
                  small
                  onClick={() => setEditing({ what: 'record', record })}
                  label={`${words.change} ${record.undername}`}
                >
                  {words.change}
                </Button>
                <Button
                  small
                  onClick={() => setEditing({ what: 'hand-over', record })}
                  label={`${words.handOver} ${record.undername}`}
                >
                  {words.handOver}
                </Button>
                <Button
                  small
                  label={`${words.remove} ${record.undername}`}
                  onClick={() =>
                    propose({
                      action: 'remove-record',
                      name,
                      fields: { antId, undername: record.undername },
                      owner: ownerWanted(now),
                    })
                  }
                >
                  {words.remove}
                </Button>
              </span>
            ),
          },
        ]}
      />
      {editing?.what === 'record' && <EditRecord now={now} record={editing.record} close={close} />}
      {editing?.what === 'hand-over' && <HandOver now={now} record={editing.record} close={close} />}
    </Card>
  );
}

interface UndernameLinkProps {
  readonly name: string;
  readonly record: NameRecord;
  readonly limit: number;
}

function UndernameLink({ name, record: { undername, index }, limit }: UndernameLinkProps) {
  const href = nameUrl('gateway', labelOf(name, undername));
  return (
    <>
      {href === undefined ? (
        <bdi>{undername}</bdi>
      ) : (
        <a href={href} target="_blank" rel="noopener noreferrer">
          <bdi>{undername}</bdi>
        </a>
      )}{' '}
      {index > limit && <Badge tone="warn">{words.overLimit}</Badge>}
    </>
  );
}

interface EditProps<R> {
  readonly now: NameNow;
  readonly record: R;
  readonly close: () => void;
}

function EditRecord({ now, record, close }: EditProps<NameRecord | undefined>) {
  const [undername, setUndername] = useState(record?.undername ?? '');
  const [target, setTarget] = useState(record?.target ?? '');
  const [ttl, setTtl] = useState(String(record?.ttlSeconds ?? ownTtl));
  const isNew = record === undefined;
  const isTaken = isNew && now.records?.some((known) => known.undername === undername) === true;
  const isNameWrong = undername !== '' && (undername === '@' || !isUndername(undername));
  const isTargetWrong = target !== '' && !isArweaveId(target);
  const isTtlWrong = !/^[0-9]+$/.test(ttl) || !isTtl(Number(ttl));
  const isWrong = undername === '' || target === '' || isTaken || isNameWrong || isTargetWrong || isTtlWrong;
  return (
    <Dialog open title={isNew ? words.addUndername : `${words.change}: ${undername}`} onClose={close}>
      <Form
        onSubmit={() => {
          if (isWrong) return;
          close();
          propose({
            action: 'set-record',
            name: now.name,
            fields: { antId: now.antId, undername, transactionId: target, ttlSeconds: Number(ttl) },
            owner: ownerWanted(now),
          });
        }}
      >
        {isNew && (
          <TextField
            label={words.undername}
            value={undername}
            onInput={(text) => setUndername(text.trim().toLowerCase())}
            mono
            focused
            error={isNameWrong ? words.undernameWrong : isTaken ? words.undernameTaken : undefined}
          />
        )}
        <RecordFields {...{ target, setTarget, ttl, setTtl, isTtlWrong }} isTargetWrong={isTargetWrong} />
        <div class="actions actions-end">
          <Button onClick={close}>{texts.kit.cancel}</Button>
          <Button kind="primary" submit disabled={isWrong}>
            {words.continue}
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}

function HandOver({ now, record, close }: EditProps<NameRecord>) {
  const [target, setTarget] = useState('');
  const isWrong = target !== '' && !isSolanaAddress(target);
  return (
    <Dialog open title={`${words.handOver}: ${record.undername}`} onClose={close}>
      <Form
        onSubmit={() => {
          if (target === '' || isWrong) return;
          close();
          propose({
            action: 'transfer-record',
            name: now.name,
            fields: { antId: now.antId, undername: record.undername, target },
            owner: ownerWanted(now),
          });
        }}
      >
        <TextField
          label={words.transferLabel}
          value={target}
          onInput={(text) => setTarget(text.trim())}
          mono
          focused
          error={isWrong ? words.notSolana : undefined}
        />
        <div class="actions actions-end">
          <Button onClick={close}>{texts.kit.cancel}</Button>
          <Button kind="primary" submit disabled={target === '' || isWrong}>
            {words.continue}
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}
