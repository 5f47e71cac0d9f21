/** A page about the wallet in use that only the wallet itself may read: it is asked to sign before anything is shown. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Button } from '../../kit/button.tsx';
import { Card } from '../../kit/card.tsx';
import { PageTitle } from '../../kit/page-title.tsx';
import { hasAsked } from '../../wallet/ask-as.ts';
import { type Wallet, wallet } from '../../wallet/wallet.ts';
import { NeedWallet } from './need-wallet.tsx';

interface OfWalletProps {
  readonly title: string;
  readonly note: string;
  /** Why it is asked, and the button that lets it be. */
  readonly signNote: string;
  readonly show: string;
  children(current: Wallet): ComponentChildren;
}

export function OfWallet({ title, note, ...rest }: OfWalletProps) {
  const current = wallet.value;
  return (
    <>
      <PageTitle title={title} note={note} />
      {current === undefined ? <NeedWallet /> : <WhenWanted key={current.address} of={current} {...rest} />}
    </>
  );
}

function WhenWanted({
  of: current,
  signNote,
  show,
  children,
}: Omit<OfWalletProps, 'title' | 'note'> & { readonly of: Wallet }) {
  // Keys of the page sign without a question; others are asked when the person wants it.
  const [isWanted, want] = useState(current.source !== 'injected' || hasAsked(current));
  if (isWanted) return <>{children(current)}</>;
  return (
    <Card>
      <p>{signNote}</p>
      <div class="actions">
        <Button onClick={() => want(true)}>{show}</Button>
      </div>
    </Card>
  );
}
