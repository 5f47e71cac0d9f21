/** How many wait, how many are stuck, and what is in the wallet that pays. */

import type { SurfaceState } from '../../../../formats/admin-answers.ts';
import { Figure, Figures } from '../../../kit/card.tsx';
import { formatCoin, formatCount } from '../../../kit/format.ts';
import { Loaded, useLoad } from '../../../kit/load.tsx';
import { askUpload } from '../../../services/operator/ask.ts';
import { texts } from '../../../texts.ts';
import { everyMs, root } from './place.ts';

const words = texts.operator.bundler;
const { unknown } = texts.operator;

export function Summary() {
  const state = useLoad(() => askUpload<SurfaceState>('GET', 'state'), [], { everyMs });
  return (
    <Loaded of={state}>
      {({ figures }) => {
        const {
          itemsWaiting,
          itemsFailed,
          bundlesOpen,
          bundlesStuck,
          bundlesDamaged,
          announcementsWaiting,
          walletWinston,
        } = figures;
        return (
          <Figures>
            <Figure label={words.itemsWaiting} value={countOf(itemsWaiting)} href={`${root}/items`} />
            <Figure label={words.bundlesOpen} value={countOf(bundlesOpen)} href={`${root}?state=open`} />
            <Figure
              label={words.bundlesStuck}
              value={countOf(bundlesStuck)}
              tone={bundlesStuck === 0 ? 'good' : 'bad'}
              href={`${root}?state=stuck`}
            />
            {bundlesDamaged !== 0 && (
              <Figure
                label={words.bundlesDamaged}
                value={countOf(bundlesDamaged)}
                tone="bad"
                href={`${root}?state=damaged`}
              />
            )}
            <Figure
              label={words.itemsFailed}
              value={countOf(itemsFailed)}
              tone={itemsFailed === 0 ? 'good' : 'bad'}
              href={`${root}/items?state=failed`}
            />
            <Figure
              label={words.announcements}
              value={countOf(announcementsWaiting)}
              note={words.announcementsWaiting}
              href={`${root}/announcements`}
            />
            <Figure
              label={words.wallet}
              value={
                typeof walletWinston === 'string' ? formatCoin(BigInt(walletWinston), 12, 'AR') : unknown
              }
              tone={walletWinston === '0' ? 'bad' : 'neutral'}
            />
          </Figures>
        );
      }}
    </Loaded>
  );
}

const countOf = (value: unknown): string => (typeof value === 'number' ? formatCount(value) : unknown);
