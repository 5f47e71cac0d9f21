import { useState } from 'preact/hooks';
import { Button, LinkButton } from '../../kit/button.tsx';
import { Card, Columns, Fact, Facts } from '../../kit/card.tsx';
import { confirmAction } from '../../kit/dialog.tsx';
import { formatCoin } from '../../kit/format.ts';
import { Loaded, useLoad } from '../../kit/load.tsx';
import { notify } from '../../kit/notify.tsx';
import { PageTitle } from '../../kit/page-title.tsx';
import { Id } from '../../kit/value.tsx';
import { encodeBase64url } from '../../services/encoding.ts';
import { balanceOf, freeBytesOf, rates } from '../../services/payment.ts';
import { settings } from '../../services/settings.ts';
import { texts } from '../../texts.ts';
import { disconnect } from '../../wallet/connect.ts';
import { forgetKey } from '../../wallet/made.ts';
import { openWalletChooser, type Wallet, wallet } from '../../wallet/wallet.ts';
import { ApprovalTable } from './approvals.tsx';
import { askFaucet, coinsOf, faucetGifts } from './coins.ts';
import { CreditFigures } from './credit-figures.tsx';
import { History } from './history.tsx';
import { NeedWallet } from './need-wallet.tsx';
import { Purchases } from './top-up/purchases.tsx';

const words = texts.wallet.overview;
const everyMs = 5_000;

export function Overview() {
  const current = wallet.value;
  return (
    <>
      <PageTitle title={texts.sections.wallet} note={words.note}>
        {current !== undefined && (
          <>
            <LinkButton kind="primary" href="/wallet/top-up">
              {texts.wallet.tabs.topUp}
            </LinkButton>
            <Button onClick={() => openWalletChooser()}>{texts.wallet.change}</Button>
            <Button kind="quiet" onClick={() => disconnect()}>
              {texts.wallet.disconnect}
            </Button>
          </>
        )}
      </PageTitle>
      {current === undefined ? <NeedWallet /> : <Account key={current.address} of={current} />}
    </>
  );
}

function Account({ of: current }: { readonly of: Wallet }) {
  const { address } = current;
  const account = useLoad(
    async (signal) => {
      const [balance, price, freeBytes] = await Promise.all([
        balanceOf(address, signal),
        rates(signal),
        // An extension of the contract, which not every service has.
        freeBytesOf(address, signal).catch(() => 0),
      ]);
      return { balance, price, freeBytes };
    },
    [address],
    { everyMs },
  );
  return (
    <>
      <Loaded of={account}>
        {({ balance, price, freeBytes }) => (
          <CreditFigures balance={balance} price={price} freeBytes={freeBytes} />
        )}
      </Loaded>
      <Purchases onlyOpen />
      <Columns>
        <Addresses of={current} />
        <Coins of={current} refreshCredits={account.again} />
      </Columns>
      {account.value !== undefined && account.value.balance.received.length > 0 && (
        <Card title={texts.wallet.approvals.received}>
          <ApprovalTable
            caption={texts.wallet.approvals.received}
            approvals={account.value.balance.received}
            show="payer"
          />
        </Card>
      )}
      <History of={current} />
    </>
  );
}

function Addresses({ of: current }: { readonly of: Wallet }) {
  const [isAsked, ask] = useState(!(current.kind === 'ethereum' && current.source === 'injected'));
  const key = useLoad(async () => (isAsked ? keyForms(current) : undefined), [current, isAsked]);
  const forget = async (): Promise<void> => {
    const isSure = await confirmAction({
      title: words.forgetTitle,
      text: words.forgetText,
      confirm: words.forget,
      danger: true,
    });
    if (!isSure) return;
    await disconnect();
    await forgetKey(current.address);
  };
  return (
    <Card title={words.addresses}>
      <Facts>
        <Fact label={words.source}>
          <bdi>{current.label}</bdi> · {texts.wallet.kinds[current.kind]}
        </Fact>
        <Fact label={words.address}>
          <Id full value={current.address} what={words.address} href={`/account/${current.address}`} />
        </Fact>
        {current.kind === 'ethereum' && (
          <Fact label={words.lowerCase}>
            <Id full value={current.address.toLowerCase()} what={words.lowerCase} />
          </Fact>
        )}
        <Loaded of={key}>
          {(forms) =>
            forms === undefined ? (
              <Fact label={words.publicKey}>
                <Button small onClick={() => ask(true)}>
                  {words.publicKeyAsk}
                </Button>
              </Fact>
            ) : (
              <>
                {current.kind !== 'arweave' && (
                  <Fact label={words.normalised}>
                    <Id
                      full
                      value={forms.normalised}
                      what={words.normalised}
                      href={`/address/${forms.normalised}`}
                    />
                    <p class="soft">{words.normalisedHint}</p>
                  </Fact>
                )}
                <Fact label={words.publicKey}>
                  <Id value={forms.publicKey} what={words.publicKey} />
                </Fact>
              </>
            )
          }
        </Loaded>
      </Facts>
      {current.source === 'made' && (
        <div class="actions">
          <Button small kind="danger" onClick={forget}>
            {words.forget}
          </Button>
        </div>
      )}
    </Card>
  );
}

async function keyForms(current: Wallet): Promise<{ publicKey: string; normalised: string }> {
  const key = await current.publicKey();
  const hash = await crypto.subtle.digest('SHA-256', new Uint8Array(key));
  return { publicKey: encodeBase64url(key), normalised: encodeBase64url(new Uint8Array(hash)) };
}

interface CoinsProps {
  readonly of: Wallet;
  readonly refreshCredits: () => void;
}

function Coins({ of: { kind, address }, refreshCredits }: CoinsProps) {
  const coins = useLoad(() => coinsOf(kind, address), [kind, address], { everyMs });
  const [busy, setBusy] = useState<string | undefined>(undefined);
  const give = async (coin: string, amount: string): Promise<void> => {
    setBusy(coin);
    try {
      const balance = await askFaucet(address, coin, amount);
      notify({ tone: 'good', text: words.faucetGave(`${balance} ${coin}`) });
      coins.again();
      refreshCredits();
    } catch (error) {
      notify({ tone: 'bad', text: (error as Error).message });
    }
    setBusy(undefined);
  };
  return (
    <Card title={words.coins}>
      <Loaded of={coins}>
        {(known) =>
          known === undefined ? (
            <p class="soft">{words.noCoins}</p>
          ) : (
            <Facts>
              {known.map(({ symbol, decimals, amount }) => (
                <Fact key={symbol} label={symbol}>
                  <span class="number">{formatCoin(amount, decimals, symbol)}</span>
                </Fact>
              ))}
            </Facts>
          )
        }
      </Loaded>
      {settings().controlsLocalNetwork && (
        <div class="wallet-faucet">
          <h3>{words.faucet}</h3>
          <p class="soft">{words.faucetNote}</p>
          <div class="actions">
            {faucetGifts[kind].map(({ coin, amount }) => (
              <Button key={coin} small busy={busy === coin} onClick={() => give(coin, amount)}>
                {coin === 'credits' ? words.faucetCredit : words.faucetCoin(`${amount} ${coin}`)}
              </Button>
            ))}
          </div>
        </div>
      )}
    </Card>
  );
}
