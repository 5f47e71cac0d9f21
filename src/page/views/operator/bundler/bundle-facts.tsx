/** What is known of a bundle: its transaction, its tries, and whether it is still there. */

import type { BundleReport, BundleWatch } from '../../../../formats/admin-answers.ts';
import { Fact, Facts } from '../../../kit/card.tsx';
import { clampText, formatBytes, formatCount } from '../../../kit/format.ts';
import { Id, Time } from '../../../kit/value.tsx';
import { texts } from '../../../texts.ts';

const words = texts.operator.bundler;

export function BundleFacts({ bundle }: { readonly bundle: BundleReport }) {
  const { txId, lastError, nextTryAt, blockHeight, confirmations } = bundle;
  return (
    <Facts>
      <Fact label={words.transaction}>
        {txId === null ? words.notMade : <Id value={txId} href={`/tx/${txId}`} />}
      </Fact>
      <Fact label={words.items}>{formatCount(bundle.items)}</Fact>
      <Fact label={words.bytes}>{formatBytes(bundle.bytes)}</Fact>
      <Fact label={words.made}>
        <Time at={bundle.createdAt} />
      </Fact>
      {bundle.postedAt !== null && (
        <Fact label={words.posted}>
          <Time at={bundle.postedAt} />
        </Fact>
      )}
      {bundle.seededAt !== null && (
        <Fact label={words.seeded}>
          <Time at={bundle.seededAt} />
        </Fact>
      )}
      <Fact label={words.seedings}>{formatCount(bundle.seedings)}</Fact>
      {blockHeight !== null && (
        <Fact label={words.height}>
          <a href={`/block/${blockHeight}`}>{formatCount(blockHeight)}</a>
        </Fact>
      )}
      <Fact label={words.confirmations}>
        {words.ofNeeded(confirmations ?? 0, bundle.confirmationsNeeded)}
      </Fact>
      {bundle.watch !== null && <WatchFacts watch={bundle.watch} />}
      <Fact label={words.tries}>{formatCount(bundle.tries)}</Fact>
      {lastError !== null && (
        <Fact label={words.lastError}>
          <bdi class="foreign">{clampText(lastError, 500)}</bdi>
          {bundle.lastErrorAt !== null && (
            <>
              {' · '}
              <Time at={bundle.lastErrorAt} />
            </>
          )}
        </Fact>
      )}
      {nextTryAt !== null && (
        <Fact label={words.nextTry}>
          <Time at={nextTryAt} />
        </Fact>
      )}
    </Facts>
  );
}

function WatchFacts({ watch }: { readonly watch: BundleWatch }) {
  return (
    <>
      <Fact label={words.looks}>
        {words.times(watch.looks)}
        {watch.lastAt !== null && (
          <>
            {' · '}
            <Time at={watch.lastAt} />
          </>
        )}
      </Fact>
      <Fact label={words.nextLook}>
        {watch.nextAt === null ? words.watchedLongEnough : <Time at={watch.nextAt} />}
      </Fact>
      {watch.chunksMended > 0 && <Fact label={words.mended}>{formatCount(watch.chunksMended)}</Fact>}
    </>
  );
}
