/** One item: why it is where it is, and its way to the chain. */

import type { ItemReport } from '../../../../formats/admin-answers.ts';
import { LinkButton } from '../../../kit/button.tsx';
import { Card, Columns, Fact, Facts } from '../../../kit/card.tsx';
import { clampText, formatBytes, formatCount } from '../../../kit/format.ts';
import { Loaded, useLoad } from '../../../kit/load.tsx';
import { Timeline } from '../../../kit/timeline.tsx';
import { Amount, Badge, Id, Time } from '../../../kit/value.tsx';
import { askUpload } from '../../../services/operator/ask.ts';
import { texts } from '../../../texts.ts';
import { BundleFacts } from './bundle-facts.tsx';
import { bundleHref, everyMs, root } from './place.ts';
import { BundleBadge, stateTones } from './state-badge.tsx';

const words = texts.operator.bundler;
const { unknown } = texts.operator;

export function ItemPage({ id }: { readonly id: string }) {
  const report = useLoad(() => askUpload<ItemReport>('GET', `items/${encodeURIComponent(id)}`), [id], {
    everyMs,
  });
  return (
    <>
      <p>
        <a href={root}>← {words.back}</a>
      </p>
      <Loaded of={report}>
        {(item) => (
          <>
            <Card
              title={words.itemTitle}
              tone={item.state === 'failed' || item.inBundle?.stuck === true ? 'bad' : 'neutral'}
              actions={<LinkButton href={`/tx/${item.id}`}>{words.explorer}</LinkButton>}
            >
              <p class="operator-why">
                <Badge tone={stateTones[item.state] ?? 'info'}>{words.itemStates[item.state]}</Badge>{' '}
                <bdi class="foreign">{clampText(item.why, 600)}</bdi>
              </p>
              {item.blocked && <p>{words.blocked}</p>}
            </Card>
            <Columns>
              <Card title={words.way}>
                <Timeline
                  steps={item.steps.map(({ id: step, state, at, note }) => ({
                    id: step,
                    label: words.steps[step],
                    state,
                    at: at ?? undefined,
                    note: note === null ? undefined : <bdi class="foreign">{clampText(note, 300)}</bdi>,
                  }))}
                />
              </Card>
              <Card title={words.about}>
                <ItemFacts item={item} />
              </Card>
            </Columns>
            {item.inBundle !== null && (
              <Card title={<a href={bundleHref(item.inBundle.plan)}>{words.bundle}</a>}>
                <p class="operator-why">
                  <BundleBadge bundle={item.inBundle} />{' '}
                  <bdi class="foreign">{clampText(item.inBundle.why, 600)}</bdi>
                </p>
                <BundleFacts bundle={item.inBundle} />
              </Card>
            )}
          </>
        )}
      </Loaded>
    </>
  );
}

function ItemFacts({ item }: { readonly item: ItemReport }) {
  const { paid } = item;
  return (
    <Facts>
      <Fact label={words.item}>
        <Id value={item.id} href={`/tx/${item.id}`} />
      </Fact>
      <Fact label={words.signer}>
        <Id value={item.signer} href={`/address/${item.signer}`} />
      </Fact>
      <Fact label={words.type}>
        <bdi class="foreign">{item.contentType === '' ? unknown : clampText(item.contentType, 120)}</bdi>
      </Fact>
      <Fact label={words.bytes}>{formatBytes(item.bytes)}</Fact>
      <Fact label={words.paid}>
        {paid.how === 'free' ? (
          words.howPaid.free
        ) : (
          <>
            <Amount winc={BigInt(paid.winc)} /> {words.howPaid[paid.how]}
          </>
        )}
      </Fact>
      <Fact label={words.received}>
        <Time at={item.receivedAt} />
      </Fact>
      <Fact label={words.deadline}>{formatCount(item.deadlineHeight)}</Fact>
      {item.toldTo.length > 0 && (
        <Fact label={words.toldTo}>
          <bdi class="foreign">{clampText(item.toldTo.join(', '), 300)}</bdi>
        </Fact>
      )}
      {item.waitingFor.length > 0 && (
        <Fact label={words.waitsFor}>
          <bdi class="foreign">{clampText(item.waitingFor.join(', '), 300)}</bdi>
        </Fact>
      )}
      <Fact label={words.held}>{item.held ? texts.operator.yes : texts.operator.no}</Fact>
      <Fact label={words.failures}>{formatCount(item.failures)}</Fact>
    </Facts>
  );
}
