/** The wallet in use, in the header of every page. */
import { Button } from '../kit/button.tsx';
import { shortId } from '../kit/format.ts';
import { Icon } from '../kit/icon.tsx';
import { texts } from '../texts.ts';
import { openWalletChooser, wallet } from './wallet.ts';

export function WalletChip() {
  const current = wallet.value;
  if (current === undefined) {
    return (
      <Button small kind="primary" onClick={() => openWalletChooser()}>
        {texts.wallet.connect}
      </Button>
    );
  }
  return (
    <a class="wallet-chip" href="/wallet" title={current.address}>
      <Icon name="wallet" size={16} />
      <span class="unseen">{texts.wallet.inUse} </span>
      <span class="wallet-chip-label">
        <bdi>{current.label}</bdi>
      </span>{' '}
      <span class="mono">{shortId(current.address)}</span>
    </a>
  );
}
