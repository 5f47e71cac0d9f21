/** Purchases of this browser with how each stands; what is open is looked at until it is not. */
import { Button, LinkButton } from '../../../kit/button.tsx';
import { Card } from '../../../kit/card.tsx';
import { formatCredits, shortId } from '../../../kit/format.ts';
import { useLoad } from '../../../kit/load.tsx';
import type { Tone } from '../../../kit/tone.ts';
import { Badge, Time } from '../../../kit/value.tsx';
import { texts } from '../../../texts.ts';
import { isFinal, listPurchases, look, type Purchase, purchases } from './purchase.ts';

const words = texts.wallet.topUp;
const everyMs = 3_000;
const mostShown = 10;

/** `onlyOpen`: nothing at all where nothing is under way. */
export function Purchases({ onlyOpen = false }: { readonly onlyOpen?: boolean }) {
  const known = useLoad(lookAtAll, [], { everyMs });
  const shown = (known.value ?? []).filter((purchase) => !onlyOpen || !isFinal(purchase)).slice(0, mostShown);
  if (shown.length === 0) return null;
  return (
    <Card title={words.openPayments}>
      <p class="soft">{words.openNote}</p>
      <ul class="purchases">
        {shown.map((purchase) => (
          <li key={purchase.id}>
            <span class="purchase-title">{titleOf(purchase)}</span>
            <Badge tone={tones[purchase.state]}>{stateWords(purchase)}</Badge>
            <Time at={purchase.madeAt} />
            <span class="actions">
              <LinkButton small href={`/wallet/top-up/payment/${encodeURIComponent(purchase.id)}`}>
                {texts.kit.showNotice}
              </LinkButton>
              {isFinal(purchase) && (
                <Button
                  small
                  kind="quiet"
                  onClick={async () => {
                    await purchases.delete(purchase.id);
                    known.again();
                  }}
                >
                  {words.forget}
                </Button>
              )}
            </span>
          </li>
        ))}
      </ul>
    </Card>
  );
}

const tones: Readonly<Record<Purchase['state'], Tone>> = {
  open: 'info',
  paid: 'info',
  credited: 'good',
  failed: 'bad',
  cancelled: 'neutral',
};

function stateWords({ way, state }: Purchase): string {
  const { steps } = words;
  if (state === 'credited') return steps.credited;
  if (state === 'failed') return steps.failed;
  if (state === 'cancelled') return steps.cancelled;
  return way === 'card' || way === 'gift' ? steps.paying : steps.confirming;
}

export function titleOf(purchase: Purchase): string {
  const { way, paid, winc, to } = purchase;
  if (way === 'gift') return words.giftTitle(paid, to);
  if (way === 'card') return words.cardTitle(paid, formatCredits(winc));
  return winc > 0n ? words.coinTitle(paid, formatCredits(winc)) : `${paid} · ${shortId(purchase.id)}`;
}

async function lookAtAll(): Promise<readonly Purchase[]> {
  return Promise.all((await listPurchases()).map(lookAndKeep));
}

/** What cannot be asked just now stays as it was. */
export async function lookAndKeep(purchase: Purchase): Promise<Purchase> {
  if (isFinal(purchase)) return purchase;
  const next = await look(purchase).catch(() => purchase);
  if (next !== purchase) await purchases.put(next.id, next);
  return next;
}
