/** Where a stored item is read, and how far it is on its way to the chain. */
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { LinkButton } from '../../kit/button.tsx';
import { Fact, Facts } from '../../kit/card.tsx';
import { type Load, Loaded, useLoad } from '../../kit/load.tsx';
import { type Step, Timeline } from '../../kit/timeline.tsx';
import { Copy, Id } from '../../kit/value.tsx';
import { serviceUrl } from '../../services/settings.ts';
import { type ItemStatus, itemStatus } from '../../services/upload.ts';
import { texts } from '../../texts.ts';
import { isLast } from './receipts.ts';

const words = texts.upload;

export function ItemLinks({ id }: { readonly id: string }) {
  const gateway = serviceUrl('gateway');
  const router = serviceUrl('router');
  return (
    <div>
      <Facts>
        <Fact label={words.id}>
          <Id value={id} full href={`/tx/${id}`} />
        </Fact>
        {gateway !== undefined && <Address label={words.viaGateway} href={`${gateway}/${id}`} />}
        {router !== undefined && <Address label={words.viaRouter} href={`${router}/${id}`} />}
      </Facts>
      <div class="actions upload-next">
        {gateway !== undefined && (
          <LinkButton kind="primary" href={`${gateway}/${id}`} outside>
            {words.openGateway}
          </LinkButton>
        )}
        {router !== undefined && (
          <LinkButton href={`${router}/${id}`} outside>
            {words.openRouter}
          </LinkButton>
        )}
        <LinkButton href={`/names?target=${id}`}>{words.nameIt}</LinkButton>
        <LinkButton href={`/tx/${id}`}>{words.explore}</LinkButton>
      </div>
    </div>
  );
}

function Address({ label, href }: { readonly label: string; readonly href: string }) {
  return (
    <Fact label={label}>
      <span class="id">
        <a href={href} target="_blank" rel="noopener noreferrer">
          {href}
        </a>
        <Copy text={href} what={words.address} />
      </span>
    </Fact>
  );
}

const followEveryMs = 2_000;
/** In a list, where many are followed at once. */
export const followManyEveryMs = 10_000;

interface ItemWayProps {
  readonly id: string;
  readonly receivedAt: number | undefined;
}

/** From the receipt to the chain; asked for again until nothing follows. */
export function ItemWay({ id, receivedAt }: ItemWayProps) {
  const status = useStatus(id, undefined);
  return <Loaded of={status}>{(value) => <Timeline steps={stepsOf(value, receivedAt)} />}</Loaded>;
}

/** `known`: a last one, which is not asked for again. */
export function useStatus(
  id: string,
  known: ItemStatus | undefined,
  everyMs = followEveryMs,
): Load<ItemStatus> {
  const isOver = useSignal(known !== undefined);
  const load = useLoad(
    async (signal) => known ?? (await itemStatus(id, signal)),
    [id, known],
    isOver.value ? {} : { everyMs },
  );
  const { value } = load;
  useEffect(() => {
    if (value !== undefined && isLast(value)) isOver.value = true;
  }, [value]);
  return load;
}

function stepsOf({ status, info, reason, bundleId }: ItemStatus, receivedAt: number | undefined): Step[] {
  const { steps, stepNotes } = words;
  const isPermanent = status === 'FINALIZED';
  const isBundled = isPermanent || bundleId !== undefined;
  const received: Step = {
    id: 'received',
    label: steps.received,
    state: 'done',
    at: receivedAt,
    note: stepNotes.received,
  };
  if (status === 'FAILED') {
    return [received, { id: 'failed', label: steps.failed, state: 'failed', note: reason ?? info }];
  }
  return [
    received,
    {
      id: 'bundled',
      label: steps.bundled,
      state: isBundled ? 'done' : 'now',
      note: bundleId === undefined ? stepNotes.bundled : <Id value={bundleId} href={`/tx/${bundleId}`} />,
    },
    {
      id: 'permanent',
      label: steps.permanent,
      state: isPermanent ? 'done' : isBundled ? 'now' : 'waiting',
      note: stepNotes.permanent,
    },
  ];
}
