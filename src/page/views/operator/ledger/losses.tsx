import type { LedgerLosses } from '../../../../formats/admin-answers.ts';
import { Card, Fact, Facts } from '../../../kit/card.tsx';
import { Loaded, useLoad } from '../../../kit/load.tsx';
import { Empty } from '../../../kit/state.tsx';
import { Amount } from '../../../kit/value.tsx';
import { askPayment } from '../../../services/operator/ask.ts';
import { texts } from '../../../texts.ts';
import { pageQuery } from '../page-query.ts';
import { Pager } from '../pager.tsx';
import { Entries } from './accounts.tsx';
import { root } from './place.ts';

const words = texts.operator.ledger;

export function LossesPart({ query }: { readonly query: URLSearchParams }) {
  const before = query.get('before');
  const losses = useLoad(
    () => askPayment<LedgerLosses>('GET', `ledger/losses${pageQuery({ before })}`),
    [before],
    {
      keep: true,
    },
  );
  return (
    <Card title={words.lossesTitle}>
      <p class="soft">{words.lossesNote}</p>
      <Loaded of={losses}>
        {({ total, entries, next }) =>
          entries.length === 0 ? (
            <Empty title={words.lossesEmpty} />
          ) : (
            <>
              <Facts>
                <Fact label={words.losses}>
                  <Amount winc={BigInt(total)} />
                </Fact>
              </Facts>
              <Entries entries={entries} />
              <Pager query={query} path={`${root}/losses`} next={next} />
            </>
          )
        }
      </Loaded>
    </Card>
  );
}
