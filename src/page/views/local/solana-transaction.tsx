import { LinkButton } from '../../kit/button.tsx';
import { Card, Fact, Facts } from '../../kit/card.tsx';
import { clampText, formatCoin, formatCount, shortId } from '../../kit/format.ts';
import { Code, Json } from '../../kit/json.tsx';
import { Loaded, useLoad } from '../../kit/load.tsx';
import { PageTitle } from '../../kit/page-title.tsx';
import { Empty } from '../../kit/state.tsx';
import { Table } from '../../kit/table.tsx';
import { Badge, Id, Time } from '../../kit/value.tsx';
import { readSolanaTransaction } from '../../services/local.ts';
import { texts } from '../../texts.ts';
import {
  type BalanceChange,
  detailsOf,
  type Instruction,
  programName,
  type SolanaDetails,
  summaryOf,
} from './solana-words.ts';

const words = texts.local.solana;
const sol = { decimals: 9, symbol: 'SOL' };

export function SolanaTransaction({ signature }: { readonly signature: string }) {
  const transaction = useLoad((signal) => readSolanaTransaction(signature, signal), [signature]);
  return (
    <>
      <PageTitle title={words.details} note={<Id value={signature} what={words.signature} />}>
        <LinkButton href="/local/solana">{words.back}</LinkButton>
      </PageTitle>
      <Loaded of={transaction}>
        {(answer) =>
          answer === undefined ? (
            <Empty title={words.unknownTransaction} />
          ) : (
            <Details details={detailsOf(answer)} />
          )
        }
      </Loaded>
    </>
  );
}

function Details({ details }: { readonly details: SolanaDetails }) {
  const { instructions, changes, logs, fee, slot, at, error } = details;
  return (
    <>
      <Card>
        <Facts>
          <Fact label={words.what}>{summaryOf(logs)}</Fact>
          <Fact label={words.outcome}>
            <Badge tone={error === undefined ? 'good' : 'bad'}>
              {error === undefined ? words.done : words.failed}
            </Badge>
          </Fact>
          {error !== undefined && (
            <Fact label={words.error}>
              <code>{clampText(error, 300)}</code>
            </Fact>
          )}
          <Fact label={words.slot}>{slot === undefined ? '–' : formatCount(slot)}</Fact>
          <Fact label={words.at}>{at === undefined ? '–' : <Time at={at} />}</Fact>
          <Fact label={words.fee}>{formatCoin(fee, sol.decimals, sol.symbol)}</Fact>
        </Facts>
      </Card>
      <Card title={words.changes}>
        <Changes changes={changes} />
      </Card>
      <Card title={words.instructions}>
        <ol class="local-instructions">
          {instructions.map((instruction, index) => (
            <li key={index}>
              <h3>{words.instruction(index + 1)}</h3>
              <InstructionFacts instruction={instruction} />
            </li>
          ))}
        </ol>
      </Card>
      <Card title={words.log}>
        <Code text={logs.join('\n')} what={words.logText} />
      </Card>
    </>
  );
}

function Changes({ changes }: { readonly changes: readonly BalanceChange[] }) {
  const coin = (amount: bigint, { decimals, mint }: BalanceChange) =>
    formatCoin(amount, decimals, mint === undefined ? sol.symbol : shortId(mint));
  return (
    <Table
      caption={words.changes}
      rows={changes}
      rowKey={({ account, mint }) => `${account} ${mint ?? ''}`}
      empty={<Empty title={words.noChanges} />}
      columns={[
        {
          id: 'account',
          head: words.account,
          wide: true,
          cell: ({ account }) => <Id value={account} what={words.account} />,
        },
        {
          id: 'change',
          head: words.change,
          align: 'end',
          cell: (row) => (
            <span class="number">
              {row.change > 0n ? '+' : ''}
              {coin(row.change, row)}
            </span>
          ),
        },
        {
          id: 'now',
          head: words.now,
          align: 'end',
          cell: (row) => <span class="number">{coin(row.now, row)}</span>,
        },
      ]}
    />
  );
}

function InstructionFacts({ instruction }: { readonly instruction: Instruction }) {
  const { program, type, values, accounts, data } = instruction;
  const name = programName(program);
  return (
    <Facts>
      <Fact label={words.program}>
        {name !== undefined && `${name} · `}
        <Id value={program} what={words.program} />
      </Fact>
      {type !== undefined && (
        <Fact label={words.what}>
          <bdi>{type}</bdi>
        </Fact>
      )}
      {values !== undefined && (
        <Fact label={words.values}>
          <Json value={values} />
        </Fact>
      )}
      {accounts.length > 0 && (
        <Fact label={words.accounts}>
          <ul class="local-accounts">
            {accounts.map((account, index) => (
              <li key={index}>
                <Id value={account} what={words.account} />
              </li>
            ))}
          </ul>
        </Fact>
      )}
      {data !== undefined && (
        <Fact label={words.data}>
          <code class="local-data">{clampText(data, 300)}</code>
        </Fact>
      )}
    </Facts>
  );
}
