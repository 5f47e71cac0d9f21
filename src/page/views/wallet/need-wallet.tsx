/** In place of what needs a wallet while there is none. */
import { Button } from '../../kit/button.tsx';
import { Card } from '../../kit/card.tsx';
import { Empty } from '../../kit/state.tsx';
import { settings } from '../../services/settings.ts';
import { texts } from '../../texts.ts';
import { openWalletChooser } from '../../wallet/wallet.ts';

export function NeedWallet() {
  const words = texts.wallet.nobody;
  return (
    <Card>
      <Empty
        title={words.title}
        action={
          <Button kind="primary" onClick={() => openWalletChooser()}>
            {texts.wallet.connect}
          </Button>
        }
      >
        <p>{words.note}</p>
        {settings().controlsLocalNetwork && <p>{words.local}</p>}
      </Empty>
    </Card>
  );
}
