/** A name as each verifier sees it, and the way out of the cache. */
import { useState } from 'preact/hooks';
import { Card, Columns } from '../../../kit/card.tsx';
import { clampText } from '../../../kit/format.ts';
import { Loaded, useLoad } from '../../../kit/load.tsx';
import { Table } from '../../../kit/table.tsx';
import { Id } from '../../../kit/value.tsx';
import type { Ask } from '../../../services/operator/ask.ts';
import type { NameBallot } from '../../../services/operator/router.ts';
import { texts } from '../../../texts.ts';
import { FindForm } from '../find-form.tsx';
import { isId, isNameLabel } from '../ids.ts';
import { useAction } from '../use-action.ts';

const words = texts.operator.router;

export function RouterToolsPart({ ask }: { readonly ask: Ask }) {
  const [name, setName] = useState<string | undefined>(undefined);
  const action = useAction();
  const purge = (id: string): void =>
    action.run(async () => {
      const { purged } = await ask<{ purged: boolean }>('POST', 'cache/purge', { id });
      return purged ? words.purged : words.notCached;
    });
  return (
    <Columns>
      <Card title={words.nameTool}>
        <FindForm
          label={words.name}
          button={words.askAll}
          refusal={(value) => (isNameLabel(value) ? undefined : words.badName)}
          onFind={setName}
        />
        {name !== undefined && <Ballots ask={ask} name={name} />}
      </Card>
      <Card title={words.purgeTool}>
        <FindForm
          label={words.id}
          button={words.purge}
          busy={action.busy}
          refusal={(value) => (isId(value) ? undefined : texts.operator.import.badId)}
          onFind={purge}
        />
      </Card>
    </Columns>
  );
}

function Ballots({ ask, name }: { readonly ask: Ask; readonly name: string }) {
  const told = useLoad(
    () => ask<{ ballots: readonly NameBallot[] }>('GET', `names/${encodeURIComponent(name)}`),
    [ask, name],
  );
  return (
    <Loaded of={told}>
      {({ ballots }) => (
        <Table
          caption={words.nameTool}
          rows={ballots}
          rowKey={({ gateway }) => gateway}
          columns={[
            {
              id: 'gateway',
              head: words.gateway,
              cell: ({ gateway }) => <bdi class="foreign">{clampText(gateway, 120)}</bdi>,
            },
            {
              id: 'says',
              head: words.says,
              wide: true,
              cell: ({ vote: { id, reason } }) =>
                id === undefined ? (
                  <bdi class="foreign">{clampText(reason ?? words.nowhere, 200)}</bdi>
                ) : (
                  <Id value={id} />
                ),
            },
          ]}
        />
      )}
    </Loaded>
  );
}
