/** The account of any wallet, by any form of its address: what anybody may know, and all of it for the wallet in use. */
import { useState } from 'preact/hooks';
import type { Place } from '../../app/location.ts';
import { navigate } from '../../app/location.ts';
import { Button, LinkButton } from '../../kit/button.tsx';
import { Card, Columns, Fact, Facts } from '../../kit/card.tsx';
import { Form, TextField } from '../../kit/form.tsx';
import { Loaded, useLoad } from '../../kit/load.tsx';
import { PageTitle } from '../../kit/page-title.tsx';
import { Id } from '../../kit/value.tsx';
import { type Account, accountOf, rates } from '../../services/payment.ts';
import { texts } from '../../texts.ts';
import { type Wallet, wallet } from '../../wallet/wallet.ts';
import { ApprovalTable } from './approvals.tsx';
import { CreditFigures } from './credit-figures.tsx';
import { FindPayment } from './find-payment.tsx';
import { History } from './history.tsx';

const words = texts.wallet.account;
const everyMs = 5_000;

export function AccountPage({ place }: { readonly place: Place }) {
  const address = place.segments[1];
  return address === undefined ? <Choose /> : <Shown key={address} address={address} />;
}

function Choose() {
  const [text, setText] = useState('');
  const own = wallet.value?.address;
  return (
    <>
      <PageTitle title={words.title} note={words.note} />
      <Columns>
        <Card title={words.which}>
          <Form
            onSubmit={() => text.trim() !== '' && navigate(`/account/${encodeURIComponent(text.trim())}`)}
          >
            <TextField
              label={words.address}
              hint={words.addressHint}
              value={text}
              onInput={setText}
              maxLength={100}
            />
            <div class="actions">
              <Button kind="primary" submit>
                {words.show}
              </Button>
              {own !== undefined && <LinkButton href={`/account/${own}`}>{words.mine}</LinkButton>}
            </div>
          </Form>
        </Card>
        <FindPayment />
      </Columns>
    </>
  );
}

function Shown({ address }: { readonly address: string }) {
  const account = useLoad(
    async (signal) => ({ found: await accountOf(address, signal), price: await rates(signal) }),
    [address],
    { everyMs },
  );
  const isOwn = account.value !== undefined && ownWallet(account.value.found) !== undefined;
  return (
    <>
      <PageTitle title={words.title} note={<bdi class="mono">{address.slice(0, 128)}</bdi>}>
        {isOwn ? (
          <LinkButton kind="primary" href="/wallet/top-up">
            {texts.wallet.tabs.topUp}
          </LinkButton>
        ) : (
          <LinkButton kind="primary" href={`/wallet/top-up/card?for=${encodeURIComponent(address)}`}>
            {words.topUp}
          </LinkButton>
        )}
      </PageTitle>
      <Loaded of={account}>
        {({ found, price }) => (
          <>
            <CreditFigures balance={found} price={price} freeBytes={found.freeBytes} />
            <Columns>
              <Forms of={found} />
              <FindPayment />
            </Columns>
            <Shares of={found} />
            <Own of={found} />
          </>
        )}
      </Loaded>
    </>
  );
}

function Forms({ of: { address, otherForms, isKnown } }: { readonly of: Account }) {
  return (
    <Card title={words.forms}>
      <p class="soft">{isKnown ? words.formsNote : words.unknown}</p>
      <Facts>
        <Fact label={words.address}>
          <Id full value={address} what={words.address} href={`/address/${address}`} />
        </Fact>
        {otherForms.map((form) => (
          <Fact key={form} label={words.otherForm}>
            <Id full value={form} what={words.otherForm} href={`/address/${form}`} />
          </Fact>
        ))}
      </Facts>
    </Card>
  );
}

function Shares({ of: { given, received } }: { readonly of: Account }) {
  return (
    <>
      {received.length > 0 && (
        <Card title={words.received}>
          <ApprovalTable caption={words.received} approvals={received} show="payer" />
        </Card>
      )}
      {given.length > 0 && (
        <Card title={words.given}>
          <ApprovalTable caption={words.given} approvals={given} show="user" />
        </Card>
      )}
    </>
  );
}

/** The wallet in use, where the account is its. */
function ownWallet({ address, otherForms }: Account): Wallet | undefined {
  const current = wallet.value;
  return current !== undefined && [address, ...otherForms].includes(current.address) ? current : undefined;
}

function Own({ of: account }: { readonly of: Account }) {
  const current = ownWallet(account);
  if (current !== undefined) return <History of={current} />;
  return (
    <Card title={words.private}>
      <p class="soft">{words.privateNote}</p>
    </Card>
  );
}
