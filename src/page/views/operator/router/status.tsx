/** The router at a glance. */
import { Card, Figure, Figures } from '../../../kit/card.tsx';
import { formatBytes, formatCount } from '../../../kit/format.ts';
import { Loaded, useLoad } from '../../../kit/load.tsx';
import type { Ask } from '../../../services/operator/ask.ts';
import type { RouterStatus } from '../../../services/operator/router.ts';
import { texts } from '../../../texts.ts';
import { Problems } from '../problems.tsx';
import { formatShare } from './share.ts';

const words = texts.operator.router;

interface Props {
  readonly ask: Ask;
  /** On the router's own page, which has none of the console's others to go to. */
  readonly isAlone?: boolean;
}

export function RouterStatusPart({ ask, isAlone = false }: Props) {
  const status = useLoad(() => ask<RouterStatus>('GET', 'status'), [ask], { everyMs: 5_000 });
  return (
    <Loaded of={status}>
      {({ gateways, cache, ...router }) => (
        <>
          {router.problems.length > 0 && (
            <Card title={texts.operator.import.problems} tone="bad">
              <Problems problems={router.problems} isAlone={isAlone} />
            </Card>
          )}
          <Figures>
            <Figure
              label={words.healthy}
              value={words.healthyOf(gateways.healthy, gateways.total)}
              note={words.leftAlone(gateways.circuitOpen)}
              tone={gateways.healthy === 0 ? 'bad' : 'good'}
            />
            <Figure
              label={words.verification}
              value={router.verificationEnabled ? words.on : words.off}
              note={words.asked(router.verificationCount)}
              tone={router.verificationEnabled ? 'good' : 'warn'}
            />
            <Figure
              label={words.cache}
              value={formatBytes(cache.sizeBytes)}
              note={
                cache.enabled
                  ? words.cacheOf(formatCount(cache.entries), formatBytes(cache.maxSizeBytes))
                  : words.cacheOff
              }
            />
            <Figure
              label={words.hits}
              value={formatShare(cache.hitRate)}
              note={words.hitsNote(formatCount(cache.hits), formatCount(cache.misses))}
            />
            <Figure label={words.names} value={formatCount(router.names)} />
            <Figure label={words.mode} value={router.mode} note={words.strategy(router.routingStrategy)} />
            <Figure label={words.uptime} value={router.uptime} note={words.version(router.version)} />
            <Figure label={words.domain} value={router.baseDomain} />
          </Figures>
        </>
      )}
    </Loaded>
  );
}
