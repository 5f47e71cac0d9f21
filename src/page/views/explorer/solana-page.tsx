import { memberOf } from '../../../formats/json.ts';
import { Card, Fact, Facts } from '../../kit/card.tsx';
import { formatCoin } from '../../kit/format.ts';
import { Code, Json } from '../../kit/json.tsx';
import { Loaded, useLoad } from '../../kit/load.tsx';
import { PageTitle } from '../../kit/page-title.tsx';
import { Empty } from '../../kit/state.tsx';
import { Badge, Id, Time } from '../../kit/value.tsx';
import { readSolanaTransaction } from '../../services/solana.ts';
import { texts } from '../../texts.ts';

/** A transaction of the chain that names live on. */
export function SolanaPage({ signature }: { readonly signature: string }) {
  const words = texts.explorer.solanaPage;
  const found = useLoad((signal) => readSolanaTransaction(signature, signal), [signature]);
  return (
    <>
      <PageTitle title={words.title} note={words.note} />
      <Loaded of={found}>
        {(transaction) =>
          transaction === undefined ? (
            <Empty title={words.notFound} />
          ) : (
            <Found signature={signature} transaction={transaction} />
          )
        }
      </Loaded>
    </>
  );
}

function Found({ signature, transaction }: { readonly signature: string; readonly transaction: unknown }) {
  const words = texts.explorer.solanaPage;
  const meta = memberOf(transaction, 'meta');
  const [slot, time, fee] = [
    memberOf(transaction, 'slot'),
    memberOf(transaction, 'blockTime'),
    memberOf(meta, 'fee'),
  ];
  const logs = memberOf(meta, 'logMessages');
  const error = memberOf(meta, 'err');
  return (
    <>
      <Card>
        <Facts>
          <Fact label={words.signature}>
            <Id value={signature} what={words.signature} />
          </Fact>
          <Fact label={words.outcome}>
            <Badge tone={error === null ? 'good' : 'bad'}>{error === null ? words.done : words.failed}</Badge>
          </Fact>
          {typeof slot === 'number' && <Fact label={words.slot}>{slot}</Fact>}
          {typeof time === 'number' && (
            <Fact label={words.time}>
              <Time at={time * 1_000} />
            </Fact>
          )}
          {typeof fee === 'number' && <Fact label={words.fee}>{formatCoin(BigInt(fee), 9, 'SOL')}</Fact>}
        </Facts>
      </Card>
      {Array.isArray(logs) && logs.length > 0 && (
        <Card title={words.logs}>
          <Code text={logs.slice(0, 500).map(String).join('\n').slice(0, 50_000)} what={words.logs} />
        </Card>
      )}
      <Card title={texts.explorer.raw}>
        <Json value={transaction} />
      </Card>
    </>
  );
}
