import type { LedgerCheckState } from '../../../../formats/admin-answers.ts';
import { Button } from '../../../kit/button.tsx';
import { Card, Fact, Facts } from '../../../kit/card.tsx';
import { clampText, formatCount, formatDuration } from '../../../kit/format.ts';
import { Loaded, useLoad } from '../../../kit/load.tsx';
import { Amount, Badge, Time } from '../../../kit/value.tsx';
import { askPayment } from '../../../services/operator/ask.ts';
import { texts } from '../../../texts.ts';
import { useAction } from '../use-action.ts';

const words = texts.operator.ledger;

export function Check() {
  const state = useLoad(() => askPayment<LedgerCheckState>('GET', 'ledger/check'), [], { everyMs: 3_000 });
  const action = useAction();
  const check = (): void =>
    action.run(async () => {
      await askPayment('POST', 'ledger/check');
      state.again();
      return undefined;
    });
  return (
    <Card
      title={words.check}
      tone={state.value?.last?.ok === false ? 'bad' : 'neutral'}
      actions={
        <Button onClick={check} busy={action.busy || state.value?.running === true}>
          {action.busy || state.value?.running === true ? words.checking : words.checkNow}
        </Button>
      }
    >
      <p class="soft">{words.checkNote}</p>
      <Loaded of={state}>
        {({ last }) =>
          last === null ? (
            <p>{words.neverChecked}</p>
          ) : (
            <>
              <Facts>
                <Fact label={words.state}>
                  <Badge tone={last.ok ? 'good' : 'bad'}>{last.ok ? words.right : words.wrong}</Badge>
                </Fact>
                <Fact label={words.checkedAt}>
                  <Time at={last.at} /> ({formatDuration(last.tookMs)})
                </Fact>
                <Fact label={words.accounts}>{formatCount(last.accounts)}</Fact>
                <Fact label={words.entries}>{formatCount(last.entries)}</Fact>
                <Fact label={words.spendings}>{formatCount(last.spendings)}</Fact>
                <Fact label={words.drift}>
                  <Amount winc={BigInt(last.drift)} />
                </Fact>
                <Fact label={words.losses}>
                  <Amount winc={BigInt(last.losses)} />
                </Fact>
              </Facts>
              {last.problems.length > 0 && (
                <ul>
                  {last.problems.map((problem) => (
                    <li key={problem}>
                      <bdi class="foreign">{clampText(problem, 500)}</bdi>
                    </li>
                  ))}
                </ul>
              )}
            </>
          )
        }
      </Loaded>
    </Card>
  );
}
