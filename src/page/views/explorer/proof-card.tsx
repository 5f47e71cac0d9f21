/** How far the content can be believed: what gateway and router say they proved, and a proof made here. */
import { useState } from 'preact/hooks';
import { Button, LinkButton } from '../../kit/button.tsx';
import { Card, Fact, Facts } from '../../kit/card.tsx';
import { useLoad } from '../../kit/load.tsx';
import { Problem } from '../../kit/state.tsx';
import { Badge } from '../../kit/value.tsx';
import { readRouterProof } from '../../services/gateway.ts';
import { keptReceipt, proofUrl } from '../../services/item-state.ts';
import { serviceUrl } from '../../services/settings.ts';
import { texts } from '../../texts.ts';
import type { Entry } from './entry.ts';
import type { Outcome } from './proof/prove.ts';

export function ProofCard({ entry }: { readonly entry: Entry }) {
  const words = texts.explorer.proof;
  const { id, node, content, upload } = entry;
  const hasRouter = serviceUrl('router') !== undefined && content !== undefined;
  const router = useLoad(
    async (signal) =>
      hasRouter && content !== undefined
        ? await readRouterProof(id, content.size ?? 0, signal).catch(() => undefined)
        : undefined,
    [id, hasRouter, content?.isStable],
    { keep: true },
  );
  const receipt = useLoad(() => keptReceipt(id).catch(() => undefined), [id]);
  const type = node?.signatureType ?? (node?.bundledIn === null ? 1 : undefined);
  return (
    <Card title={words.title}>
      <Facts>
        {content !== undefined && (
          <Fact label={words.gateway}>
            <Badge tone={content.isVerified ? 'good' : 'neutral'}>
              {content.isVerified ? words.gatewayVerified : words.notYet}
            </Badge>{' '}
            <span class="soft">{content.isVerified ? words.gatewayHow : words.gatewayNot}</span>
          </Fact>
        )}
        {hasRouter && router.value !== undefined && (
          <Fact label={words.router}>
            <Badge tone={router.value.isVerified ? 'good' : 'neutral'}>
              {router.value.isVerified ? words.methodOf(router.value.method ?? '') : words.notYet}
            </Badge>{' '}
            {router.value.by !== undefined && (
              <span class="soft">
                {words.by} <bdi class="foreign">{router.value.by.slice(0, 300)}</bdi>
              </span>
            )}
          </Fact>
        )}
        {type !== undefined && (
          <Fact label={words.signature}>
            {words.types[type as keyof typeof words.types] ?? words.typeOf(type)}
          </Fact>
        )}
      </Facts>
      <OwnProof entry={entry} />
      <p class="soft">
        <LinkButton
          kind="quiet"
          small
          href={receipt.value === undefined ? '/explorer/receipt' : `/explorer/receipt?id=${id}`}
        >
          {receipt.value === undefined ? texts.explorer.checkReceipt : texts.explorer.receipt.yours}
        </LinkButton>
        {upload !== undefined && (
          <LinkButton kind="quiet" small outside href={proofUrl(id)}>
            {words.whole}
          </LinkButton>
        )}
      </p>
    </Card>
  );
}

function OwnProof({ entry }: { readonly entry: Entry }) {
  const words = texts.explorer.proof;
  const [isBusy, setBusy] = useState(false);
  const [outcome, setOutcome] = useState<Outcome | undefined>(undefined);
  const [error, setError] = useState<Error | undefined>(undefined);
  const prove = async () => {
    setBusy(true);
    setError(undefined);
    try {
      // What knows every kind of key is large: it comes when it is needed.
      const { proveHere } = await import('./proof/prove.ts');
      setOutcome(await proveHere(entry));
    } catch (thrown) {
      setError(thrown instanceof Error ? thrown : new Error(String(thrown)));
    } finally {
      setBusy(false);
    }
  };
  return (
    <div class="explorer-proof" aria-live="polite">
      <Button small busy={isBusy} onClick={prove}>
        {words.prove}
      </Button>
      {error !== undefined && <Problem error={error} />}
      {outcome === undefined ? (
        <p class="soft">{words.proveHint}</p>
      ) : (
        <ul>
          {outcome.lines.map((line, at) => (
            <li key={line}>
              {at === 0 && <Badge tone={outcome.tone}>{words.outcomes[outcome.tone]}</Badge>} {line}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
