/** An upload under way, and what came of it. */
import { useEffect, useRef } from 'preact/hooks';
import { Button, LinkButton } from '../../kit/button.tsx';
import { Card } from '../../kit/card.tsx';
import { confirmAction } from '../../kit/dialog.tsx';
import { formatBytes, formatDuration } from '../../kit/format.ts';
import { Progress } from '../../kit/progress.tsx';
import type { Column } from '../../kit/table.tsx';
import type { Tone } from '../../kit/tone.ts';
import { Badge, Bytes, Id } from '../../kit/value.tsx';
import { texts } from '../../texts.ts';
import { DropZone } from './choose.tsx';
import type { EntryState, Problem, UploadEntry } from './engine/entry.ts';
import { SendRate, type Totals, totalsOf } from './engine/totals.ts';
import { FileName, shownName } from './file-name.tsx';
import { ItemLinks, ItemWay } from './item-links.tsx';
import { exportReceipts, readReceipts, receipts } from './receipts.ts';
import { Rows } from './rows.tsx';
import {
  batch,
  cancel,
  cancelAll,
  clear,
  entries,
  hasFile,
  isOffline,
  pause,
  pauseAll,
  resume,
  resumeAll,
} from './state.ts';

const words = texts.upload;

export function RunningView() {
  const list = entries.value;
  const totals = totalsOf(list);
  const isManifestDue =
    batch.value.hasManifest && totals.sent > 0 && !list.some(({ isManifest }) => isManifest);
  const left = totals.going + totals.failed + totals.paused;
  const isOver = left === 0 && !isManifestDue;
  const missing = list.filter(
    ({ key, state }) => state !== 'sent' && state !== 'cancelled' && !hasFile(key),
  ).length;
  return (
    <>
      {isOver ? <Outcome totals={totals} /> : <Going totals={totals} />}
      {missing > 0 && (
        <Card tone="warn">
          <p>{words.filesMissing(missing)}</p>
          <DropZone title={words.drop} small />
        </Card>
      )}
      <Card title={words.files(list.filter(({ isManifest }) => !isManifest).length)}>
        <Rows caption={words.uploading} columns={columns} rows={list} rowKey={({ key }) => key} />
      </Card>
    </>
  );
}

function Going({ totals }: { readonly totals: Totals }) {
  const rate = useRef(new SendRate());
  const isGoing = totals.going > 0;
  const hasFailed = totals.failed > 0;
  if (isGoing) rate.current.add(Date.now(), totals.sentBytes);
  const msLeft =
    isGoing && !isOffline.value ? rate.current.msLeft(totals.bytes - totals.sentBytes) : undefined;
  const title = isGoing ? words.uploading : hasFailed ? words.stopped : words.paused;
  const stop = async (): Promise<void> => {
    const isSure = await confirmAction({
      title: words.cancelAllTitle,
      text: words.cancelAllText,
      confirm: words.cancelAll,
      danger: true,
    });
    if (isSure) cancelAll();
  };
  return (
    <Card
      title={title}
      tone={hasFailed ? 'bad' : isGoing ? 'info' : 'warn'}
      actions={
        <>
          {isGoing ? (
            <Button onClick={pauseAll}>{words.pauseAll}</Button>
          ) : (
            <Button kind="primary" onClick={resumeAll}>
              {words.resumeAll}
            </Button>
          )}
          <Button onClick={() => void stop()}>{words.cancelAll}</Button>
        </>
      }
    >
      <Progress value={totals.sentBytes} max={totals.bytes} label={words.whole} />
      <p class="soft number">
        {progressText(totals)}
        {msLeft !== undefined && ` · ${words.timeLeft(formatDuration(Math.ceil(msLeft / 1_000) * 1_000))}`}
      </p>
      {isOffline.value && (
        <p class="tone-warn" role="status">
          {words.offline}
        </p>
      )}
      <FirstProblem />
    </Card>
  );
}

const progressText = ({ sent, files, sentBytes, bytes }: Totals): string =>
  words.progress(sent, files, formatBytes(sentBytes), formatBytes(bytes));

/** What keeps the whole from going on, with what helps. */
function FirstProblem() {
  const problem = entries.value.find(({ state }) => state === 'failed')?.problem;
  if (problem === undefined) return null;
  return (
    <div class="upload-short" role="alert">
      <p class="tone-bad">{problemText(problem)}</p>
      {problem.kind === 'credits' && (
        <LinkButton href="/wallet/top-up" small>
          {words.topUp}
        </LinkButton>
      )}
    </div>
  );
}

function Outcome({ totals }: { readonly totals: Totals }) {
  const sent = entries.value.filter(({ receipt }) => receipt !== undefined);
  const main = sent.find(({ isManifest }) => isManifest) ?? (sent.length === 1 ? sent[0] : undefined);
  const title = totals.sent === 0 ? words.nothingDone : totals.cancelled > 0 ? words.partlyDone : words.done;
  useEffect(() => void readReceipts().catch(() => {}), []);
  const exportAll = (): void => {
    const ids = new Set(sent.map(({ receipt }) => receipt?.id));
    exportReceipts(
      (receipts.value ?? []).filter(({ id }) => ids.has(id)),
      'receipts.json',
    );
  };
  return (
    <Card
      title={title}
      tone={totals.sent === 0 ? 'warn' : 'good'}
      actions={
        <>
          {sent.length > 0 && <Button onClick={exportAll}>{words.exportReceipts}</Button>}
          <Button onClick={clear}>{words.uploadMore}</Button>
        </>
      }
    >
      <p role="status" class="soft">
        {progressText(totalsOf(entries.value.filter(({ isManifest }) => !isManifest)))}
      </p>
      {main?.receipt !== undefined && (
        <div class="upload-outcome">
          <ItemLinks id={main.receipt.id} />
          <ItemWay id={main.receipt.id} receivedAt={undefined} />
        </div>
      )}
    </Card>
  );
}

const tones: Readonly<Record<EntryState, Tone>> = {
  waiting: 'neutral',
  reading: 'info',
  signing: 'warn',
  sending: 'info',
  finishing: 'info',
  sent: 'good',
  failed: 'bad',
  paused: 'warn',
  cancelled: 'neutral',
};

const columns: readonly Column<UploadEntry>[] = [
  { id: 'name', head: words.name, wide: true, cell: (entry) => <FileName path={entry.path} /> },
  { id: 'state', head: words.state, cell: (entry) => <StateCell entry={entry} /> },
  { id: 'size', head: words.size, align: 'end', cell: ({ size }) => <Bytes of={size} /> },
  {
    id: 'id',
    head: words.id,
    cell: ({ receipt }) =>
      receipt === undefined ? null : <Id value={receipt.id} href={`/upload/history/${receipt.id}`} />,
  },
];

function StateCell({ entry }: { readonly entry: UploadEntry }) {
  const { state, doneBytes, size, problem, path } = entry;
  const isMoving = state === 'reading' || state === 'sending';
  return (
    <span class="state-cell">
      <Badge tone={tones[state]}>{words.states[state]}</Badge>
      {isMoving && (
        <progress
          value={size === 0 ? 1 : Math.min(1, doneBytes / size)}
          max={1}
          aria-label={`${words.states[state]}: ${shownName(path)}`}
        />
      )}
      <RowActions entry={entry} />
      {state === 'failed' && problem !== undefined && (
        <span class="row-note tone-bad">{problemText(problem)}</span>
      )}
    </span>
  );
}

function RowActions({ entry: { key, state, path } }: { readonly entry: UploadEntry }) {
  const action = (text: string, run: (key: string) => void) => (
    <Button small kind="quiet" label={words.ofFile(text, shownName(path))} onClick={() => run(key)}>
      {text}
    </Button>
  );
  if (state === 'sent' || state === 'cancelled') return null;
  return (
    <span class="row-actions">
      {state === 'failed' && action(words.retry, resume)}
      {state === 'paused' && action(words.resume, resume)}
      {state !== 'failed' && state !== 'paused' && action(words.pause, pause)}
      {action(words.cancel, cancel)}
    </span>
  );
}

function problemText({ kind, text }: Problem): string {
  if (kind === 'service') return words.problems.service(text === 'INVALID' ? words.invalid : text);
  if (kind === 'wallet') return words.problems.wallet(text);
  return words.problems[kind];
}
