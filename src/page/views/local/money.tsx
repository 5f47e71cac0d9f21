import { useState } from 'preact/hooks';
import { navigate, type Place } from '../../app/location.ts';
import { Button } from '../../kit/button.tsx';
import { Card } from '../../kit/card.tsx';
import { Form, NumberField, Select, TextField } from '../../kit/form.tsx';
import { Loaded, useLoad } from '../../kit/load.tsx';
import { PageTitle } from '../../kit/page-title.tsx';
import { Table } from '../../kit/table.tsx';
import { Copy, Id } from '../../kit/value.tsx';
import { type FaucetCoin, type FundedWallets, giveCoins, readWallets } from '../../services/local.ts';
import { texts } from '../../texts.ts';
import { useActions } from './use-action.ts';

const words = texts.local.money;
const coins = Object.keys(words.coins) as FaucetCoin[];

type Kind = keyof typeof words.kinds;
const kinds = Object.keys(words.kinds) as Kind[];

interface Row {
  readonly number: number;
  readonly address: string;
  /** As programs take it. */
  readonly key: string;
}

export function Money({ place }: { readonly place: Place }) {
  const wallets = useLoad(readWallets, []);
  const kind = kinds.find((known) => known === place.query.get('kind')) ?? 'arweave';
  return (
    <>
      <PageTitle title={words.title} note={words.note} />
      <Faucet key={place.query.toString()} place={place} />
      <Card title={words.wallets}>
        <div class="local-narrow">
          <Select
            label={words.kindLabel}
            value={kind}
            options={kinds.map((value) => ({ value, label: words.kinds[value] }))}
            onChange={(value) => navigate(`/local/money?kind=${value}`, { replace: true })}
          />
        </div>
        <Loaded of={wallets}>
          {(value) => (
            <>
              <WalletTable kind={kind} rows={rowsOf(value, kind)} />
              {value.mnemonic !== undefined && (
                <p class="soft">
                  {words.mnemonic}: <code>{value.mnemonic}</code>{' '}
                  <Copy text={value.mnemonic} what={words.mnemonic} />
                </p>
              )}
            </>
          )}
        </Loaded>
      </Card>
    </>
  );
}

function rowsOf(wallets: FundedWallets, kind: Kind): Row[] {
  const keys: Readonly<Record<Kind, readonly { readonly address: string; readonly key: string }[]>> = {
    arweave: wallets.arweave.map(({ address, jwk }) => ({ address, key: JSON.stringify(jwk) })),
    ethereum: wallets.ethereum.map(({ address, privateKey }) => ({ address, key: privateKey })),
    solana: wallets.solana.map(({ address, secretKey }) => ({ address, key: secretKey })),
  };
  return keys[kind].map((wallet, number) => ({ ...wallet, number }));
}

const usualCoin: Readonly<Record<Kind, FaucetCoin>> = { arweave: 'ar', ethereum: 'usdc', solana: 'sol' };

function Faucet({ place }: { readonly place: Place }) {
  const [address, setAddress] = useState(place.query.get('to') ?? '');
  const [coin, setCoin] = useState<FaucetCoin>(
    coins.find((known) => known === place.query.get('coin')) ?? 'credits',
  );
  const [amount, setAmount] = useState('10');
  const actions = useActions();
  const isAmount = /^\d{1,12}(?:\.\d{1,12})?$/.test(amount.trim()) && Number(amount) > 0;
  const isReady = isAmount && address.trim() !== '';
  const give = () =>
    actions.run('give', async () => {
      const { balance } = await giveCoins(address.trim(), coin, amount.trim());
      return words.gave(balance, words.coinNames[coin]);
    });
  return (
    <Card title={words.faucet}>
      <p class="soft">{words.faucetNote}</p>
      <Form onSubmit={() => isReady && give()} busy={actions.busy !== undefined}>
        <TextField label={words.address} value={address} onInput={setAddress} mono maxLength={100} />
        <div class="local-pair">
          <NumberField
            label={words.amount}
            value={amount}
            onInput={setAmount}
            error={isAmount ? undefined : words.amountWrong}
          />
          <Select
            label={words.coin}
            value={coin}
            onChange={setCoin}
            options={coins.map((value) => ({ value, label: words.coins[value] }))}
          />
        </div>
        <div class="actions">
          <Button submit kind="primary" busy={actions.busy === 'give'} disabled={!isReady}>
            {words.give}
          </Button>
        </div>
      </Form>
    </Card>
  );
}

function WalletTable({ kind, rows }: { readonly kind: Kind; readonly rows: readonly Row[] }) {
  const giveTo = (address: string) =>
    navigate(`/local/money?kind=${kind}&coin=${usualCoin[kind]}&to=${encodeURIComponent(address)}`);
  return (
    <Table
      caption={words.wallets}
      rows={rows}
      rowKey={({ address }) => address}
      columns={[
        { id: 'number', head: words.walletNumber, align: 'end', cell: ({ number }) => number },
        {
          id: 'address',
          head: words.address,
          wide: true,
          cell: ({ address }) => <Id value={address} what={words.address} href={`/address/${address}`} />,
        },
        {
          id: 'key',
          head: words.key,
          cell: ({ address, key }) => <Copy text={key} what={words.keyOf(address)} />,
        },
        {
          id: 'give',
          head: <span class="unseen">{words.giveTo}</span>,
          align: 'end',
          cell: ({ address }) => (
            <Button small label={words.giveToLabel(address)} onClick={() => giveTo(address)}>
              {words.giveTo}
            </Button>
          ),
        },
      ]}
    />
  );
}
