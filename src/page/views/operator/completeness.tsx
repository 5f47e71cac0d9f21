/** Whether the index lacks anything, and at which heights. */
import { Card, Fact, Facts } from '../../kit/card.tsx';
import { formatCount } from '../../kit/format.ts';
import { Loaded, useLoad } from '../../kit/load.tsx';
import { Badge } from '../../kit/value.tsx';
import { type Completeness, readCompleteness } from '../../services/gateway.ts';
import { texts } from '../../texts.ts';

const words = texts.operator.import;
const everyMs = 10_000;
/** More are for a query. */
const shownRanges = 5;
/** As many as the gateway lists. */
const listed = 100;

export function CompletenessCard() {
  const state = useLoad((signal) => readCompleteness(signal), [], { everyMs, keep: true });
  return (
    <Card title={words.completeTitle} tone={state.value?.complete === false ? 'warn' : 'neutral'}>
      <p class="soft">{words.completeNote}</p>
      <Loaded of={state}>{(value) => <Found of={value} />}</Loaded>
    </Card>
  );
}

function Found({ of }: { readonly of: Completeness }) {
  const { complete, ranges, missingBlocks, missingTransactions, unreadBundles, leftOutBundles } = of;
  return (
    <Facts>
      <Fact label={words.state}>
        <Badge tone={complete ? 'good' : 'warn'}>{complete ? words.isComplete : words.isIncomplete}</Badge>
      </Fact>
      <Fact label={words.lookedAt}>{rangeText(of)}</Fact>
      <Fact label={words.completeHeights}>{rangesText(ranges)}</Fact>
      {missingBlocks.length > 0 && <Fact label={words.missingBlocks}>{rangesText(missingBlocks)}</Fact>}
      {missingTransactions.length > 0 && <Fact label={words.missing}>{countText(missingTransactions)}</Fact>}
      {unreadBundles.length > 0 && <Fact label={words.unreadBundles}>{countText(unreadBundles)}</Fact>}
      {leftOutBundles.length > 0 && (
        <Fact label={words.leftOut}>
          {countText(leftOutBundles)} <span class="soft">{words.leftOutNote}</span>
        </Fact>
      )}
    </Facts>
  );
}

const rangeText = ({ min, max }: { readonly min: number; readonly max: number }): string =>
  min === max ? formatCount(min) : `${formatCount(min)} – ${formatCount(max)}`;

function rangesText(ranges: Completeness['ranges']): string {
  if (ranges.length === 0) return words.noHeights;
  const shown = ranges.slice(0, shownRanges).map(rangeText).join(', ');
  return ranges.length > shownRanges ? `${shown} ${words.andMore}` : shown;
}

const countText = (list: readonly unknown[]): string =>
  list.length < listed ? formatCount(list.length) : `${formatCount(list.length)} ${words.andMore}`;
