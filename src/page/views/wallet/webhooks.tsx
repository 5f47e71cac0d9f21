/** The wallet's webhooks: told of its credits, uploads and names. */
import { walletEventTypes } from '../../../formats/wallet-event-types.ts';
import type { AskHooks } from '../../services/hooks.ts';
import { texts } from '../../texts.ts';
import { changeAs, readAs } from '../../wallet/ask-as.ts';
import type { Wallet } from '../../wallet/wallet.ts';
import { Hooks } from '../hooks/hooks.tsx';
import { OfWallet } from './of-wallet.tsx';

const words = texts.hooks;
const typesOf = (topic: string) => walletEventTypes.filter((type) => type.startsWith(`${topic}.`));
const types = {
  [words.kinds.credits]: typesOf('credits'),
  [words.kinds.uploads]: typesOf('upload'),
  [words.kinds.names]: typesOf('name'),
};

export function Webhooks() {
  const { title, walletNote: note, signNote, show } = words;
  return (
    <OfWallet {...{ title, note, signNote, show }}>
      {(current) => <Hooks owner={current.address} ask={asking(current)} types={types} />}
    </OfWallet>
  );
}

const asking =
  (current: Wallet): AskHooks =>
  <T,>(method: 'GET' | 'POST' | 'DELETE', path: string, body?: object): Promise<T> => {
    const whole = `/v1/hooks${path}`;
    return method === 'GET' ? readAs(current, whole) : changeAs(current, method, whole, body);
  };
