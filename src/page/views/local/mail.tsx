/** Letters that a mailer would send. The product mails nothing itself: gifts wait until somebody redeems them. */

import { LinkButton } from '../../kit/button.tsx';
import { Card, Fact, Facts } from '../../kit/card.tsx';
import { formatCredits, formatTime } from '../../kit/format.ts';
import { Loaded, useLoad } from '../../kit/load.tsx';
import { PageTitle } from '../../kit/page-title.tsx';
import { Empty } from '../../kit/state.tsx';
import { Copy, Time } from '../../kit/value.tsx';
import { readGifts, type WaitingGift } from '../../services/local.ts';
import { texts } from '../../texts.ts';
import { unescapeHtml } from './unescape-html.ts';

const words = texts.local.mail;
const refreshMs = 5_000;

export function Mail() {
  const gifts = useLoad(readGifts, [], { everyMs: refreshMs });
  return (
    <>
      <PageTitle title={words.title} note={words.note} />
      <Loaded of={gifts}>
        {(value) =>
          value.length === 0 ? (
            <Card>
              <Empty
                title={words.none}
                action={<LinkButton href="/wallet/top-up">{words.noneAction}</LinkButton>}
              >
                {words.noneNote}
              </Empty>
            </Card>
          ) : (
            value.map((gift) => <Letter key={gift.receiptId} gift={gift} />)
          )
        }
      </Loaded>
    </>
  );
}

function Letter({ gift }: { readonly gift: WaitingGift }) {
  const href = `/wallet/redeem?id=${encodeURIComponent(gift.receiptId)}`;
  return (
    <Card title={words.subject(formatCredits(BigInt(gift.amount)))}>
      <p>
        <bdi class="foreign">{words.to(unescapeHtml(gift.email))}</bdi>
      </p>
      <p class="soft">{words.body}</p>
      <div class="actions">
        <LinkButton href={href} kind="primary">
          {words.link}
        </LinkButton>
        <Copy text={new URL(href, window.location.href).href} what={words.copyLink} />
      </div>
      <Facts>
        <Fact label={words.sent}>
          <Time at={gift.createdAt} />
        </Fact>
        <Fact label={words.expires}>{formatTime(gift.expiresAt)}</Fact>
      </Facts>
    </Card>
  );
}
