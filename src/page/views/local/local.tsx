/** The local network as a whole: its blocks and time, its state, its money, its faults, and what its stand-ins say. */
import type { Place } from '../../app/location.ts';
import { addCommands } from '../../app/palette.ts';
import { notify } from '../../kit/notify.tsx';
import { Tabbed } from '../../kit/page-title.tsx';
import { Tabs } from '../../kit/tabs.tsx';
import { mineBlocks } from '../../services/local.ts';
import { texts } from '../../texts.ts';
import { Faults } from './faults.tsx';
import { Mail } from './mail.tsx';
import { Money } from './money.tsx';
import { Network } from './network.tsx';
import { Solana } from './solana.tsx';
import { SolanaTransaction } from './solana-transaction.tsx';
import { State } from './state.tsx';
import { Webhooks } from './webhooks.tsx';

const pages = ['network', 'state', 'money', 'faults', 'card', 'solana', 'mail'] as const;
const words = texts.local.tabs;

addCommands(() => [
  {
    id: 'local-mine',
    label: texts.local.network.commandMine,
    run: () => {
      mineBlocks(1).then(
        ({ height }) => notify({ tone: 'good', text: texts.local.network.mined(height) }),
        (error: Error) => notify({ tone: 'bad', text: error.message }),
      );
    },
  },
  ...pages.map((page) => ({ id: `local-${page}`, label: words[page], href: hrefOf(page) })),
]);

export default function LocalView({ place }: { readonly place: Place }) {
  const page = pages.find((known) => known === place.segments[1]) ?? 'network';
  const signature = place.segments[2];
  return (
    <Tabbed>
      <Tabs
        label={words.label}
        current={page}
        tabs={pages.map((id) => ({ id, label: words[id], href: hrefOf(id) }))}
      />
      {page === 'network' && <Network />}
      {page === 'state' && <State />}
      {page === 'money' && <Money place={place} />}
      {page === 'faults' && <Faults />}
      {page === 'card' && <Webhooks />}
      {page === 'solana' && signature === undefined && <Solana />}
      {page === 'solana' && signature !== undefined && <SolanaTransaction signature={signature} />}
      {page === 'mail' && <Mail />}
    </Tabbed>
  );
}

function hrefOf(page: (typeof pages)[number]): string {
  return page === 'network' ? '/local' : `/local/${page}`;
}
