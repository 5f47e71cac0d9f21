import './style/main.css';
import './wallet/wallet-parts.css';
import './views/home/home.css';
import './views/hooks/hooks.css';
import './views/explorer/explorer.css';
import './views/wallet/wallet.css';
import './views/names/names.css';
import './views/operator/operator.css';
import './views/upload/upload.css';
import './views/local/local.css';
import { render } from 'preact';
import { followLinks } from './app/location.ts';
import { Shell } from './app/shell.tsx';
import { applyTheme } from './app/theme.ts';
import { watchVisibility } from './kit/moving.ts';
import { sectionOf, sections } from './sections.ts';
import { readSettings, settings } from './services/settings.ts';
import { texts } from './texts.ts';
import { addExplorerCommands } from './views/explorer/commands.ts';
import { LiveBadge } from './views/home/live-badge.tsx';
import { addNameCommands } from './views/names/commands.ts';
import { addOperatorCommands } from './views/operator/commands.ts';
import { addUploadCommands } from './views/upload/commands.ts';
import { WalletChip } from './wallet/chip.tsx';
import { WalletChooser } from './wallet/chooser.tsx';
import { addWalletCommands } from './wallet/commands.ts';
import { findWallets } from './wallet/connect.ts';

applyTheme();
watchVisibility();
await readSettings();
followLinks();
findWallets();
addWalletCommands();
addNameCommands();
addOperatorCommands();
addUploadCommands();
addExplorerCommands();
const { version, world, controlsLocalNetwork } = settings();
const shown = sections.filter(({ localOnly }) => localOnly !== true || controlsLocalNetwork);
const root = document.getElementById('app');
if (root !== null) {
  render(
    <Shell
      sections={shown}
      sectionOf={(place) => sectionOf(place, shown)}
      version={version}
      world={texts.shell.worlds[world]}
      live={<LiveBadge />}
      wallet={<WalletChip />}
      dialogs={<WalletChooser />}
    />,
    root,
  );
}
