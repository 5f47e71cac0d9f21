/** What the command palette can do with wallets. */
import { addCommands } from '../app/palette.ts';
import { texts } from '../texts.ts';
import { disconnect } from './connect.ts';
import { openWalletChooser, wallet } from './wallet.ts';

export function addWalletCommands(): void {
  const words = texts.wallet.commands;
  addCommands(() => {
    const current = wallet.value;
    return [
      {
        id: 'wallet-choose',
        label: current === undefined ? texts.wallet.connect : texts.wallet.change,
        run: () => openWalletChooser(),
      },
      { id: 'wallet-top-up', label: words.topUp, href: '/wallet/top-up' },
      { id: 'wallet-share', label: words.share, href: '/wallet/share' },
      { id: 'wallet-redeem', label: words.redeem, href: '/wallet/redeem' },
      { id: 'wallet-prices', label: words.prices, href: '/wallet/prices' },
      { id: 'wallet-notices', label: words.notices, href: '/wallet/notices' },
      ...(current === undefined
        ? []
        : [
            {
              id: 'wallet-copy',
              label: words.copyAddress,
              hint: current.address,
              run: () => navigator.clipboard.writeText(current.address),
            },
            { id: 'wallet-disconnect', label: texts.wallet.disconnect, run: disconnect },
          ]),
    ];
  });
}
