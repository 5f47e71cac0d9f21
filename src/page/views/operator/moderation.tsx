/** What is not served: the gateway's list, which the other services follow, and the router's own. */
import { useState } from 'preact/hooks';
import type { OperatorService } from '../../../console/api.ts';
import type { AuditLine, Block, BlockAnswer, Blocks } from '../../../formats/gateway-admin-answers.ts';
import { Button } from '../../kit/button.tsx';
import { Card } from '../../kit/card.tsx';
import { confirmAction } from '../../kit/dialog.tsx';
import { Checkbox, Form, Select, TextField } from '../../kit/form.tsx';
import { clampText } from '../../kit/format.ts';
import { type Load, Loaded, useLoad } from '../../kit/load.tsx';
import { Table } from '../../kit/table.tsx';
import { Time } from '../../kit/value.tsx';
import { type Ask, askGateway, askPayment, askRouter, askUpload } from '../../services/operator/ask.ts';
import type { RouterModeration } from '../../services/operator/router.ts';
import { opens } from '../../services/operator/session.ts';
import { texts } from '../../texts.ts';
import { AuditTable } from './audit-table.tsx';
import { Closed } from './closed.tsx';
import { RouterBlocklist } from './router/blocklist.tsx';
import { useAction } from './use-action.ts';

const words = texts.operator.moderation;
const { services } = texts.operator;
const everyMs = 5_000;
type Kind = keyof typeof words.kinds;

export function ModerationPage() {
  const hasRouter = opens('router');
  const blocks = useLoad(
    () => (opens('gateway') ? askGateway<Blocks>('GET', 'blocks') : none<Blocks>()),
    [],
    { everyMs },
  );
  const router = useLoad(
    async (): Promise<RouterModeration> =>
      hasRouter ? await askRouter<RouterModeration>('GET', 'moderation') : { enabled: false },
    [hasRouter],
    { everyMs },
  );
  const audit = useLoad(() => readAudit(), [], { everyMs });
  const changed = (): void => {
    blocks.again();
    router.again();
    audit.again();
  };
  const hasRouterList = router.value?.enabled === true;
  return (
    <>
      <BlockForm changed={changed} hasRouterList={hasRouterList} />
      {opens('gateway') ? <GatewayList of={blocks} changed={changed} /> : <Closed service="gateway" />}
      {hasRouter ? (
        <RouterBlocklist ask={askRouter} of={{ ...router, again: changed }} />
      ) : (
        <Closed service="router" />
      )}
      <Card title={words.audit}>
        <Loaded of={audit}>{(lines) => <AuditTable lines={lines} />}</Loaded>
      </Card>
    </>
  );
}

const none = <T,>(): Promise<T | undefined> => Promise.resolve(undefined);

/** Of every service that the session opens; one that does not answer costs the others nothing. */
async function readAudit(): Promise<readonly AuditLine[]> {
  const asks: readonly (readonly [OperatorService, Ask, string])[] = [
    ['gateway', askGateway, 'audit'],
    ['payment', askPayment, 'audit'],
    ['upload', askUpload, 'audit'],
    ['router', askRouter, 'moderation'],
  ];
  const told = await Promise.allSettled(
    asks
      .filter(([service]) => opens(service))
      .map(async ([, ask, path]) => {
        const answer = await ask<{ lines?: readonly AuditLine[]; audit?: readonly AuditLine[] }>('GET', path);
        return answer.lines ?? answer.audit ?? [];
      }),
  );
  const lines = told.flatMap((one) => (one.status === 'fulfilled' ? one.value : []));
  return lines.toSorted((a, b) => b.at.localeCompare(a.at)).slice(0, 200);
}

interface BlockFormProps {
  readonly hasRouterList: boolean;
  changed(): void;
}

function BlockForm({ hasRouterList, changed }: BlockFormProps) {
  const [kind, setKind] = useState<Kind>('id');
  const [value, setValue] = useState('');
  const [source, setSource] = useState('');
  const [notes, setNotes] = useState('');
  const [atGateway, setAtGateway] = useState(true);
  const [atRouter, setAtRouter] = useState(false);
  const [error, setError] = useState<string | undefined>(undefined);
  const action = useAction();
  const canRouter = hasRouterList && kind !== 'hash';
  const toGateway = atGateway && opens('gateway');
  const toRouter = atRouter && canRouter;
  const submit = (): void => {
    const [what, by, why] = [value.trim(), source.trim(), notes.trim()];
    const refusal = refusalOf(what, why, toGateway, toRouter);
    setError(refusal);
    if (refusal !== undefined) return;
    action.run(async () => {
      const where: string[] = [];
      if (toGateway) {
        const reason = { ...(by !== '' && { source: by }), ...(why !== '' && { notes: why }) };
        const path = kind === 'name' ? 'block-name' : 'block-data';
        where.push(...(await askGateway<BlockAnswer>('PUT', path, { [kind]: what, ...reason })).obeyedBy);
      }
      if (toRouter) {
        const type = kind === 'name' ? 'arns' : 'txid';
        await askRouter('POST', 'moderation/block', {
          type,
          value: what,
          reason: why,
          ...(by !== '' && { blockedBy: by }),
        });
        where.push(services.router);
      }
      setValue('');
      setNotes('');
      changed();
      return words.done([...new Set(where)].join(', '));
    });
  };
  return (
    <Card title={words.block}>
      <Form onSubmit={submit} busy={action.busy} error={error}>
        <div class="operator-row">
          <Select
            label={words.what}
            value={kind}
            onChange={setKind}
            options={(['id', 'hash', 'name'] as const).map((each) => ({
              value: each,
              label: words.kinds[each],
            }))}
          />
          <TextField
            label={words.value[kind]}
            value={value}
            onInput={setValue}
            hint={words.valueHint[kind]}
            mono
            maxLength={130}
          />
        </div>
        <div class="operator-row">
          <TextField label={words.source} value={source} onInput={setSource} maxLength={200} />
          <TextField label={words.notes} value={notes} onInput={setNotes} maxLength={1024} />
        </div>
        <fieldset class="operator-where">
          <legend>{words.where}</legend>
          <Checkbox
            label={words.atGateway}
            checked={toGateway}
            disabled={!opens('gateway')}
            onChange={setAtGateway}
          />
          <Checkbox label={words.atRouter} checked={toRouter} disabled={!canRouter} onChange={setAtRouter} />
        </fieldset>
        <div class="actions">
          <Button submit kind="danger" busy={action.busy}>
            {words.submit}
          </Button>
        </div>
      </Form>
    </Card>
  );
}

function refusalOf(what: string, why: string, toGateway: boolean, toRouter: boolean): string | undefined {
  if (what === '') return words.noValue;
  if (!toGateway && !toRouter) return words.nowhere;
  return toRouter && why === '' ? words.routerNeedsReason : undefined;
}

interface GatewayListProps {
  readonly of: Load<Blocks | undefined>;
  changed(): void;
}

type Row = Block & { readonly kind: Kind };

function GatewayList({ of, changed }: GatewayListProps) {
  const action = useAction();
  const unblock = async ({ kind, what }: Row): Promise<void> => {
    const question = { title: words.unblockTitle, text: words.unblockText(what), confirm: words.unblock };
    if (!(await confirmAction(question))) return;
    action.run(async () => {
      await askGateway('PUT', kind === 'name' ? 'unblock-name' : 'unblock-data', { [kind]: what });
      changed();
      return words.unblocked;
    });
  };
  return (
    <Card title={words.gatewayList}>
      <Loaded of={of}>
        {(blocks) => (
          <Table
            caption={words.gatewayList}
            rows={rowsOf(blocks)}
            rowKey={({ kind, what }) => `${kind} ${what}`}
            empty={<p class="soft">{words.gatewayEmpty}</p>}
            columns={[
              { id: 'kind', head: words.kind, cell: ({ kind }) => words.rowKinds[kind] },
              {
                id: 'what',
                head: words.what,
                wide: true,
                cell: ({ what }) => <bdi class="foreign mono">{what}</bdi>,
              },
              {
                id: 'source',
                head: words.by,
                cell: ({ source }) => <bdi class="foreign">{clampText(source ?? '–', 120)}</bdi>,
              },
              {
                id: 'notes',
                head: words.notes,
                cell: ({ notes }) => <bdi class="foreign">{clampText(notes ?? '–', 200)}</bdi>,
              },
              { id: 'since', head: words.since, cell: ({ blockedAt }) => <Time at={blockedAt * 1000} /> },
              {
                id: 'act',
                head: '',
                align: 'end',
                cell: (row) => (
                  <Button small busy={action.busy} onClick={() => void unblock(row)}>
                    {words.unblock}
                  </Button>
                ),
              },
            ]}
          />
        )}
      </Loaded>
    </Card>
  );
}

/** The last ones first. */
function rowsOf(blocks: Blocks | undefined): readonly Row[] {
  if (blocks === undefined) return [];
  const of = (kind: Kind, list: readonly Block[]): Row[] => list.map((block) => ({ ...block, kind }));
  return [...of('id', blocks.ids), ...of('hash', blocks.hashes), ...of('name', blocks.names)].sort(
    (a, b) => b.blockedAt - a.blockedAt,
  );
}
