/** One purchase, step by step; also after its tab was closed. */
import type { Place } from '../../../app/location.ts';
import { LinkButton } from '../../../kit/button.tsx';
import { Card, Fact, Facts } from '../../../kit/card.tsx';
import { clampText, formatCredits } from '../../../kit/format.ts';
import { Loaded, useLoad } from '../../../kit/load.tsx';
import { PageTitle } from '../../../kit/page-title.tsx';
import { Empty } from '../../../kit/state.tsx';
import { type Step, Timeline } from '../../../kit/timeline.tsx';
import { Id } from '../../../kit/value.tsx';
import { texts } from '../../../texts.ts';
import { isFinal, type Purchase, purchases } from './purchase.ts';
import { lookAndKeep, titleOf } from './purchases.tsx';

const words = texts.wallet.topUp;
const everyMs = 1_500;

interface Props {
  readonly id: string;
  readonly place: Place;
}

export function PurchasePage({ id, place }: Props) {
  const known = useLoad(
    async () => {
      const purchase = await purchases.get(id);
      return purchase && lookAndKeep(purchase);
    },
    [id],
    { everyMs },
  );
  const hasLeft = place.query.get('back') === 'cancelled';
  return (
    <>
      <PageTitle title={known.value === undefined ? words.title : titleOf(known.value)} />
      <Loaded of={known}>
        {(purchase) =>
          purchase === undefined ? (
            <Empty
              title={words.unknown}
              action={<LinkButton href="/wallet/top-up">{words.title}</LinkButton>}
            />
          ) : (
            <div class="wallet-narrow purchase">
              <Card
                tone={
                  purchase.state === 'credited' ? 'good' : purchase.state === 'failed' ? 'bad' : 'neutral'
                }
              >
                <output class="foreign">{clampText(sayState(purchase, hasLeft), 400)}</output>
                <Timeline steps={stepsOf(purchase)} />
                <Details of={purchase} />
                <div class="actions">
                  {purchase.state === 'open' && 'url' in purchase && (
                    <LinkButton kind={hasLeft ? 'primary' : 'plain'} href={purchase.url}>
                      {words.continuePaying}
                    </LinkButton>
                  )}
                  <LinkButton kind={purchase.state === 'credited' ? 'primary' : 'plain'} href="/wallet">
                    {words.toWallet}
                  </LinkButton>
                  {purchase.state === 'credited' && purchase.way !== 'gift' && (
                    <LinkButton href="/upload">{words.toUpload}</LinkButton>
                  )}
                </div>
              </Card>
            </div>
          )
        }
      </Loaded>
    </>
  );
}

function sayState(purchase: Purchase, hasLeft: boolean): string {
  if (purchase.state === 'credited') return purchase.way === 'gift' ? words.giftDone : words.thanks;
  if (purchase.state === 'cancelled') return words.expired;
  if (purchase.state === 'failed') return purchase.problem ?? words.failed;
  return hasLeft ? words.cancelled : words.waiting;
}

function Details({ of: purchase }: { readonly of: Purchase }) {
  const transactionId = 'transactionId' in purchase ? purchase.transactionId : undefined;
  return (
    <Facts>
      {purchase.way === 'gift' && purchase.state === 'credited' && (
        <Fact label={words.giftNumber}>
          <Id full value={purchase.quoteId} what={words.giftNumber} />
        </Fact>
      )}
      <Fact label={words.youPay}>
        <span class="number">{purchase.paid}</span>
      </Fact>
      {purchase.winc > 0n && (
        <Fact label={words.youGet}>
          <span class="number">{formatCredits(purchase.winc)}</span>
        </Fact>
      )}
      {transactionId !== undefined && (
        <Fact label={words.x402Transaction}>
          <Id value={transactionId} what={words.x402Transaction} />
        </Fact>
      )}
    </Facts>
  );
}

function stepsOf(purchase: Purchase): Step[] {
  const { way, state, madeAt, endedAt } = purchase;
  const { steps } = words;
  const isCard = way === 'card' || way === 'gift';
  const last: Step = {
    id: 'credited',
    label: state === 'failed' ? steps.failed : state === 'cancelled' ? steps.cancelled : steps.credited,
    state: state === 'credited' ? 'done' : isFinal(purchase) ? 'failed' : 'waiting',
    at: endedAt,
  };
  const middle: Step =
    state === 'credited'
      ? { id: 'paid', label: isCard ? steps.paid : steps.confirmed, state: 'done' }
      : {
          id: 'paid',
          label: isCard ? steps.paying : steps.confirming,
          state: isFinal(purchase) ? 'waiting' : 'now',
        };
  const first: Step = { id: 'made', label: isCard ? steps.opened : steps.sent, state: 'done', at: madeAt };
  return [first, middle, last];
}
