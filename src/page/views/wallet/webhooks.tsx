/** The wallet's webhooks: told of its credits, uploads and names. */
import { useState } from 'preact/hooks';
import { Button } from '../../kit/button.tsx';
import { Card } from '../../kit/card.tsx';
import { PageTitle } from '../../kit/page-title.tsx';
import { ServiceError } from '../../services/console.ts';
import type { AskHooks } from '../../services/hooks.ts';
import { askSigned } from '../../services/payment.ts';
import { texts } from '../../texts.ts';
import { signForPayment } from '../../wallet/sign-for.ts';
import { type Wallet, wallet } from '../../wallet/wallet.ts';
import { Hooks } from '../hooks/hooks.tsx';
import { NeedWallet } from './need-wallet.tsx';

const words = texts.hooks;
const types = {
  [words.kinds.credits]: [
    'credits.paid',
    'credits.spent',
    'credits.refunded',
    'credits.shared',
    'credits.low',
  ],
  [words.kinds.uploads]: ['upload.receipt', 'upload.bundled', 'upload.permanent', 'upload.failed'],
  [words.kinds.names]: ['name.bought', 'name.changed', 'name.failed', 'name.lapsing', 'name.lapsed'],
};
/** To read, one signature is enough for a while. In memory alone: a reload asks the wallet again. */
const tokens = new Map<string, string>();

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
  const [isWanted, want] = useState(current.source !== 'injected' || tokens.has(current.address));
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
  async <T,>(method: 'GET' | 'POST' | 'DELETE', path: string, body?: object): Promise<T> => {
    const whole = `/v1/hooks${path}`;
    const token = tokens.get(current.address);
    if (method === 'GET' && token !== undefined) {
      try {
        return (await askSigned<T>(method, whole, { authorization: token })).value;
      } catch (error) {
        // It has lapsed, or the service was begun anew.
        if (!(error instanceof ServiceError) || error.status !== 403) throw error;
        tokens.delete(current.address);
      }
    }
    const text = body === undefined ? undefined : JSON.stringify(body);
    const headers = await signForPayment(current, {
      ...{ method, path: whole },
      ...(text !== undefined && { body: text }),
      ...(method !== 'GET' && { nonce: crypto.randomUUID() }),
    });
    const answer = await askSigned<T>(method, whole, headers, text);
    if (answer.token !== undefined) tokens.set(current.address, answer.token);
    return answer.value;
  };
