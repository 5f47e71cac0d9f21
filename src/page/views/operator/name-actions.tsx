/** Name actions that are not finished, and what each waits for. */
import type { OpenNameAction } from '../../../formats/admin-answers.ts';
import { Card } from '../../kit/card.tsx';
import { clampText } from '../../kit/format.ts';
import { Loaded, useLoad } from '../../kit/load.tsx';
import { Empty } from '../../kit/state.tsx';
import { Table } from '../../kit/table.tsx';
import { Amount, Badge, Id, Time } from '../../kit/value.tsx';
import { ServiceError } from '../../services/console.ts';
import { askPayment } from '../../services/operator/ask.ts';
import { texts } from '../../texts.ts';
import { pageQuery } from './page-query.ts';
import { Pager } from './pager.tsx';

const words = texts.operator.names;

interface Page {
  readonly actions: readonly OpenNameAction[];
  readonly next: string | null;
}

export function NameActionsPage({ query }: { readonly query: URLSearchParams }) {
  const before = query.get('before');
  const page = useLoad(() => readActions(before), [before], { everyMs: 5_000, keep: true });
  return (
    <Card>
      <Loaded of={page}>
        {(found) =>
          found === undefined ? (
            <Empty title={words.notSold} />
          ) : (
            <>
              <Table
                caption={texts.operator.pages.names}
                rows={found.actions}
                rowKey={({ id }) => id}
                empty={<Empty title={words.empty}>{words.emptyNote}</Empty>}
                columns={[
                  { id: 'action', head: words.action, cell: ({ action }) => action.replaceAll('-', ' ') },
                  {
                    id: 'name',
                    head: words.name,
                    cell: ({ name }) =>
                      name === null ? (
                        '–'
                      ) : (
                        <a href={`/name/${encodeURIComponent(name)}`}>{clampText(name, 60)}</a>
                      ),
                  },
                  {
                    id: 'status',
                    head: words.status,
                    cell: ({ status }) => <Badge tone="info">{status.replaceAll('_', ' ')}</Badge>,
                  },
                  {
                    id: 'why',
                    head: words.why,
                    wide: true,
                    cell: ({ why }) => <bdi class="foreign">{clampText(why, 300)}</bdi>,
                  },
                  {
                    id: 'paid',
                    head: words.paid,
                    align: 'end',
                    cell: ({ winc, paidBy }) => (
                      <>
                        <Amount winc={BigInt(winc)} /> <span class="soft">({words.by[paidBy]})</span>
                      </>
                    ),
                  },
                  { id: 'payer', head: words.payer, cell: ({ payer }) => <Id value={payer} /> },
                  { id: 'begun', head: words.begun, cell: ({ createdAt }) => <Time at={createdAt} /> },
                  { id: 'expires', head: words.expires, cell: ({ expiresAt }) => <Time at={expiresAt} /> },
                ]}
              />
              <Pager query={query} path="/operator/names" next={found.next} />
            </>
          )
        }
      </Loaded>
    </Card>
  );
}

/** Undefined where names are not sold. */
async function readActions(before: string | null): Promise<Page | undefined> {
  try {
    return await askPayment<Page>('GET', `names/actions${pageQuery({ before })}`);
  } catch (error) {
    if (error instanceof ServiceError && error.status === 404) return undefined;
    throw error;
  }
}
