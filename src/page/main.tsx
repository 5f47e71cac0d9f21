import './style/main.css';
import './wallet/wallet-parts.css';
import './views/wallet/wallet.css';
import { render } from 'preact';
import { followLinks } from './app/location.ts';
import { Shell } from './app/shell.tsx';
import { sectionOf, sections } from './sections.ts';
import { readSettings, settings } from './services/settings.ts';
import { WalletChooser } from './wallet/chooser.tsx';
import { addWalletCommands } from './wallet/commands.ts';
import { findWallets } from './wallet/connect.ts';

await readSettings();
followLinks();
findWallets();
addWalletCommands();
const shown = sections.filter(({ localOnly }) => localOnly !== true || settings().controlsLocalNetwork);
const root = document.getElementById('app');
if (root !== null) {
  render(
    <>
      <Shell sections={shown} sectionOf={sectionOf} />
      <WalletChooser />
    </>,
    root,
  );
}
