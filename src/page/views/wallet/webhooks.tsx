/** The wallet's webhooks: told of its credits, uploads and names. */
import { useState } from 'preact/hooks';
import { Button } from '../../kit/button.tsx';
import { Card } from '../../kit/card.tsx';
import { PageTitle } from '../../kit/page-title.tsx';
import type { AskHooks } from '../../services/hooks.ts';
import { walletEventTypes } from '../../services/wallet-events.ts';
import { texts } from '../../texts.ts';
import { changeAs, hasAsked, readAs } from '../../wallet/ask-as.ts';
import { type Wallet, wallet } from '../../wallet/wallet.ts';
import { Hooks } from '../hooks/hooks.tsx';
import { NeedWallet } from './need-wallet.tsx';

const words = texts.hooks;
const typesOf = (topic: string) => walletEventTypes.filter((type) => type.startsWith(`${topic}.`));
const types = {
  [words.kinds.credits]: typesOf('credits'),
  [words.kinds.uploads]: typesOf('upload'),
  [words.kinds.names]: typesOf('name'),
};

export function Webhooks() {
  const current = wallet.value;
  return (
    <>
      <PageTitle title={words.title} note={words.walletNote} />
      {current === undefined ? <NeedWallet /> : <OfWallet key={current.address} of={current} />}
    </>
  );
}

function OfWallet({ of: current }: { readonly of: Wallet }) {
  // Keys of the page sign without a question; others are asked when the person wants it.
  const [isWanted, want] = useState(current.source !== 'injected' || hasAsked(current));
  if (isWanted) return <Hooks owner={current.address} ask={asking(current)} types={types} />;
  return (
    <Card>
      <p>{words.signNote}</p>
      <div class="actions">
        <Button onClick={() => want(true)}>{words.show}</Button>
      </div>
    </Card>
  );
}

const asking =
  (current: Wallet): AskHooks =>
  <T,>(method: 'GET' | 'POST' | 'DELETE', path: string, body?: object): Promise<T> => {
    const whole = `/v1/hooks${path}`;
    return method === 'GET' ? readAs(current, whole) : changeAs(current, method, whole, body);
  };
