/** How far the content can be believed: what gateway and router say they proved, and a proof made here. */
import { useState } from 'preact/hooks';
import { Button, LinkButton } from '../../kit/button.tsx';
import { Card, Fact, Facts } from '../../kit/card.tsx';
import { formatBytes } from '../../kit/format.ts';
import { useLoad } from '../../kit/load.tsx';
import { Problem } from '../../kit/state.tsx';
import { Badge } from '../../kit/value.tsx';
import {
  ask,
  readAtMost,
  readContent,
  readRouterProof,
  readSpan,
  readTransaction,
} from '../../services/gateway.ts';
import { heldItemUrl } from '../../services/item-state.ts';
import { serviceUrl } from '../../services/settings.ts';
import { texts } from '../../texts.ts';
import type { Entry } from './entry.ts';
import { checkItem } from './proof/item.ts';
import { checkTransaction, hasDataRoot } from './proof/transaction.ts';

/** Read into memory for a proof. */
const maxProofBytes = 64 * 1024 * 1024;

export function ProofCard({ entry }: { readonly entry: Entry }) {
  const words = texts.explorer.proof;
  const { id, node, content } = entry;
  const hasRouter = serviceUrl('router') !== undefined && content !== undefined;
  const router = useLoad(
    async (signal) => (hasRouter ? await readRouterProof(id, signal).catch(() => undefined) : undefined),
    [id, hasRouter, content?.isStable],
    { keep: true },
  );
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
        <LinkButton kind="quiet" small href="/explorer/receipt">
          {texts.explorer.checkReceipt}
        </LinkButton>
      </p>
    </Card>
  );
}

interface Outcome {
  readonly tone: 'good' | 'bad' | 'warn';
  readonly lines: readonly string[];
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

async function proveHere(entry: Entry): Promise<Outcome> {
  const isItem = entry.node === undefined || entry.node.bundledIn !== null || entry.upload !== undefined;
  return isItem ? await proveItem(entry) : await proveTransaction(entry);
}

async function proveItem({ id, content, upload }: Entry): Promise<Outcome> {
  const words = texts.explorer.proof;
  const size = content?.root?.size ?? content?.size ?? 0;
  if (size > maxProofBytes) return { tone: 'warn', lines: [words.tooLarge(formatBytes(maxProofBytes))] };
  const bytes = await readItem(id, content?.root, upload !== undefined);
  if (bytes === undefined) return { tone: 'warn', lines: [words.noBytes] };
  const verdict = await checkItem(id, bytes);
  if (verdict === 'good')
    return { tone: 'good', lines: [words.itemGood(formatBytes(bytes.length)), words.idGood] };
  return { tone: verdict === 'unknown type' ? 'warn' : 'bad', lines: [words.verdicts[verdict]] };
}

/** With its header: cut out of the transaction that holds it, or from the upload service while that has it. */
async function readItem(
  id: string,
  root: NonNullable<Entry['content']>['root'],
  isHeld: boolean,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  if (root !== undefined) return await readSpan(root.id, root);
  const url = isHeld ? heldItemUrl(id) : undefined;
  if (url === undefined) return undefined;
  const answer = await ask(url);
  if (!answer.ok) return undefined;
  const { bytes, isCut } = await readAtMost(answer, maxProofBytes);
  return isCut ? undefined : bytes;
}

async function proveTransaction({ id, content }: Entry): Promise<Outcome> {
  const words = texts.explorer.proof;
  const json = await readTransaction(id);
  if (json === undefined) return { tone: 'warn', lines: [words.noHeader] };
  const verdict = await checkTransaction(id, json);
  if (verdict === 'unknown type') return { tone: 'warn', lines: [words.verdicts[verdict]] };
  if (verdict !== 'good') return { tone: 'bad', lines: [words.verdicts[verdict]] };
  const lines = [words.headerGood, words.idGood];
  const size = Number(json.data_size ?? 0);
  if (size === 0 || Number(json.format) === 1) return { tone: 'good', lines };
  if (size > maxProofBytes)
    return { tone: 'good', lines: [...lines, words.tooLarge(formatBytes(maxProofBytes))] };
  if (content === undefined) return { tone: 'good', lines: [...lines, words.noBytes] };
  const { bytes } = await readContent(id, size);
  if (!hasDataRoot(bytes, String(json.data_root))) return { tone: 'bad', lines: [words.rootBad, ...lines] };
  return { tone: 'good', lines: [...lines, words.rootGood(formatBytes(bytes.length))] };
}
