import { LinkButton } from '../../kit/button.tsx';
import { Card, Fact, Facts } from '../../kit/card.tsx';
import { formatCount, formatTime } from '../../kit/format.ts';
import { Json } from '../../kit/json.tsx';
import { Loaded, useLoad } from '../../kit/load.tsx';
import { PageTitle } from '../../kit/page-title.tsx';
import { Empty } from '../../kit/state.tsx';
import { Bytes, Id, Time } from '../../kit/value.tsx';
import { type ChainBlock, readBlock } from '../../services/gateway.ts';
import { texts } from '../../texts.ts';
import { EntryList } from './entry-list.tsx';

/** A block by its height or hash, and everything in it. */
export function BlockPage({ what }: { readonly what: string }) {
  const words = texts.explorer.blockPage;
  const block = useLoad((signal) => readBlock(what, signal), [what]);
  const height = block.value?.height;
  return (
    <>
      <PageTitle title={height === undefined ? words.title(what.slice(0, 12)) : words.title(String(height))}>
        {height !== undefined && height > 0 && (
          <LinkButton href={`/block/${height - 1}`}>{words.previous}</LinkButton>
        )}
        {height !== undefined && <LinkButton href={`/block/${height + 1}`}>{words.next}</LinkButton>}
      </PageTitle>
      <Loaded of={block}>
        {(found) =>
          found === undefined ? (
            <Empty title={words.notFound} action={<LinkButton href="/explorer">{words.newest}</LinkButton>}>
              {words.notFoundHelp}
            </Empty>
          ) : (
            <Found block={found} />
          )
        }
      </Loaded>
    </>
  );
}

function Found({ block }: { readonly block: ChainBlock }) {
  const words = texts.explorer.blockPage;
  const { height, hash, previous, timestamp, transactions, blockSize, weaveSize, rewardAddress } = block;
  return (
    <>
      <Card>
        <Facts>
          <Fact label={words.hash}>
            <Id value={hash} href={`/block/${hash}`} what={words.hash} />
          </Fact>
          <Fact label={words.mined}>
            <Time at={timestamp * 1_000} /> <span class="soft">({formatTime(timestamp * 1_000)})</span>
          </Fact>
          <Fact label={words.transactions}>{formatCount(transactions.length)}</Fact>
          <Fact label={words.size}>
            <Bytes of={BigInt(blockSize)} />
          </Fact>
          <Fact label={words.weave}>
            <Bytes of={BigInt(weaveSize)} />
          </Fact>
          {previous !== '' && (
            <Fact label={words.before}>
              <Id value={previous} href={`/block/${previous}`} what={words.before} />
            </Fact>
          )}
          {/^[A-Za-z0-9_-]{43}$/.test(rewardAddress) && (
            <Fact label={words.miner}>
              <Id value={rewardAddress} href={`/address/${rewardAddress}`} what={words.miner} />
            </Fact>
          )}
        </Facts>
      </Card>
      <Card title={words.inside}>
        <EntryList
          filter={{ tags: [], minHeight: height, maxHeight: height }}
          caption={words.inside}
          empty={words.empty}
        />
      </Card>
      <Card title={texts.explorer.raw}>
        <details>
          <summary>{texts.explorer.showRaw}</summary>
          <Json value={block.raw} />
        </details>
      </Card>
    </>
  );
}
