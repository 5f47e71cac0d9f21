/** The names of the wallet in use: what it owns on the chain and what it has paid for, those that lapse first at the top. */
import { Button, LinkButton } from '../../kit/button.tsx';
import { Card } from '../../kit/card.tsx';
import { formatDuration, formatTime } from '../../kit/format.ts';
import { Loaded, useLoad } from '../../kit/load.tsx';
import { Empty, Skeleton } from '../../kit/state.tsx';
import { Table } from '../../kit/table.tsx';
import { Badge, Id } from '../../kit/value.tsx';
import { type NameNow, readName, readOwned, readReceipts } from '../../services/names.ts';
import { texts } from '../../texts.ts';
import { openWalletChooser, type Wallet, wallet } from '../../wallet/wallet.ts';
import { nameActions } from './kept-actions.ts';

const { mine: words } = texts.names;
/** Names whose state is read; whoever has more finds the rest by search. */
const mostNames = 200;
const soonMs = 30 * 86_400_000;

type Role = 'owned' | 'kept' | 'paid' | 'gone';

interface MyName {
  readonly now: NameNow;
  readonly role: Role;
}

export function MineView() {
  const connected = wallet.value;
  if (connected === undefined) {
    return (
      <Empty
        title={words.noWallet}
        action={
          <Button kind="primary" onClick={() => openWalletChooser()}>
            {texts.names.review.connect}
          </Button>
        }
      />
    );
  }
  return <NamesOf key={connected.address} of={connected} />;
}

function NamesOf({ of: { address, kind } }: { readonly of: Wallet }) {
  const done = (nameActions.value ?? []).filter(({ stage }) => stage === 'completed').length;
  const load = useLoad((abort) => readMine(address, kind, abort), [address, done], { keep: true });
  return (
    <Loaded of={load} skeleton={<Skeleton lines={6} />}>
      {(rows) => (
        <Card>
          <Table
            caption={words.caption}
            rows={rows}
            rowKey={({ now }) => now.name}
            empty={
              <Empty
                title={words.none}
                action={
                  <LinkButton href="/names" kind="primary">
                    {words.find}
                  </LinkButton>
                }
              >
                {words.noneNote}
              </Empty>
            }
            columns={[
              {
                id: 'name',
                head: words.name,
                wide: true,
                cell: ({ now: { name } }) => (
                  <a href={`/name/${name}`}>
                    <bdi>{name}</bdi>
                  </a>
                ),
              },
              { id: 'until', head: words.until, cell: ({ now }) => <Until now={now} /> },
              { id: 'opens', head: words.opens, cell: ({ now }) => <Opens now={now} /> },
              { id: 'role', head: words.role, cell: ({ role }) => words[role] },
            ]}
          />
        </Card>
      )}
    </Loaded>
  );
}

function Opens({ now: { records } }: { readonly now: NameNow }) {
  const root = records?.find(({ undername }) => undername === '@');
  return root === undefined ? <span>–</span> : <Id value={root.target} href={`/tx/${root.target}`} />;
}

function Until({ now: { state, endsAt } }: { readonly now: NameNow }) {
  if (state === 'grace') return <Badge tone="bad">{words.grace}</Badge>;
  if (endsAt === undefined) return <span>{state === 'registered' ? words.forEver : '–'}</span>;
  const left = Date.parse(endsAt) - Date.now();
  return (
    <span title={formatTime(new Date(endsAt))}>
      {formatDuration(left)} {left < soonMs && <Badge tone="warn">{words.soon}</Badge>}
    </span>
  );
}

async function readMine(address: string, kind: Wallet['kind'], abort: AbortSignal): Promise<MyName[]> {
  const [receipts, owned] = await Promise.all([
    readReceipts(address, abort),
    kind === 'solana' ? readOwned(address, abort) : undefined,
  ]);
  const keptFor = new Set(receipts.filter(({ custodial }) => custodial).map(({ name }) => name));
  const all = [...new Set([...(owned ?? []), ...receipts].map(({ name }) => name))].slice(0, mostNames);
  const states = await Promise.all(all.map((name) => readName(name, abort)));
  const rows = states.map((now): MyName => ({ now, role: roleOf(now, address, keptFor) }));
  return rows.sort((a, b) => endOf(a.now) - endOf(b.now) || (a.now.name < b.now.name ? -1 : 1));
}

function roleOf({ state, token, name }: NameNow, address: string, keptFor: ReadonlySet<string>): Role {
  if (state === 'free' || state === 'returned') return 'gone';
  if (token?.owner === address) return 'owned';
  return keptFor.has(name) ? 'kept' : 'paid';
}

const endOf = ({ endsAt, state }: NameNow): number =>
  endsAt !== undefined ? Date.parse(endsAt) : state === 'registered' ? 9e15 : 9.1e15;
