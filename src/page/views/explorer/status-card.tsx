/** How far an entry is on its way, and for operators why it is not further. */
import { LinkButton } from '../../kit/button.tsx';
import { Card } from '../../kit/card.tsx';
import { useLoad } from '../../kit/load.tsx';
import { Timeline } from '../../kit/timeline.tsx';
import { readItemReport } from '../../services/item-state.ts';
import { texts } from '../../texts.ts';
import type { Entry } from './entry.ts';
import { journeySteps } from './timeline.ts';

export function StatusCard({ entry }: { readonly entry: Entry }) {
  const words = texts.explorer.status;
  const { id, node, upload, content, status } = entry;
  const isItem = node === undefined || node.bundledIn !== null || upload !== undefined;
  const isPermanent = content?.isStable === true || upload?.info === 'permanent';
  // Only of what is not there yet: it is asked again with every change of the rest.
  const report = useLoad(
    async () => (upload === undefined || isPermanent ? undefined : await readItemReport(id)),
    [id, upload?.info, upload?.bundleId, status?.confirmations],
    { keep: true },
  );
  const why = report.value?.why;
  const steps = journeySteps({
    isItem,
    isStable: content?.isStable === true,
    ...(upload !== undefined && { upload }),
    ...(node?.block != null && { block: node.block }),
    ...(report.value !== undefined && { receivedAt: report.value.receivedAt }),
  });
  const bundle = upload?.bundleId ?? node?.bundledIn?.id;
  const notes = {
    received:
      upload !== undefined ? words.notes.received : isItem ? words.notes.elsewhere : words.notes.posted,
    bundled:
      bundle === undefined ? words.notes.notBundled : <a href={`/tx/${bundle}`}>{words.notes.bundled}</a>,
    mined:
      node?.block == null ? (
        words.notes.notMined
      ) : (
        <a href={`/block/${node.block.height}`}>{words.notes.mined(String(node.block.height))}</a>
      ),
    permanent: isPermanent
      ? words.notes.permanent
      : status === undefined
        ? words.notes.notPermanent
        : words.notes.confirmations(status.confirmations),
  };
  return (
    <Card title={words.title} tone={upload?.info === 'failed' ? 'bad' : isPermanent ? 'good' : 'neutral'}>
      <Timeline
        steps={steps.map((step) => ({ ...step, label: words.steps[step.id], note: notes[step.id] }))}
      />
      {upload?.info === 'failed' && upload.reason !== undefined && (
        <p>
          {words.failed} <bdi class="foreign">{upload.reason}</bdi>
        </p>
      )}
      {why !== undefined && (
        <div class="explorer-why" role="status">
          <strong>{words.why}</strong> <bdi class="foreign">{why}</bdi>
        </div>
      )}
      {why === undefined && upload !== undefined && !isPermanent && report.state === 'loaded' && (
        <p class="soft">
          {words.operatorHelp}{' '}
          <LinkButton kind="quiet" small href="/operator">
            {words.operatorLink}
          </LinkButton>
        </p>
      )}
    </Card>
  );
}
