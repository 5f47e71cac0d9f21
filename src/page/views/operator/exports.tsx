/** Parquet exports: the one that runs or ran last, a new one, and the schedule. */
import { useState } from 'preact/hooks';
import type { ExportStatus } from '../../../formats/gateway-admin-answers.ts';
import { Button } from '../../kit/button.tsx';
import { Card, Columns, Fact, Facts } from '../../kit/card.tsx';
import { confirmAction } from '../../kit/dialog.tsx';
import { Checkbox, Form, NumberField, TextField } from '../../kit/form.tsx';
import { clampText, formatCount, formatDuration } from '../../kit/format.ts';
import { Loaded, useLoad } from '../../kit/load.tsx';
import { Progress } from '../../kit/progress.tsx';
import { Empty } from '../../kit/state.tsx';
import type { Tone } from '../../kit/tone.ts';
import { Badge, Time } from '../../kit/value.tsx';
import { askGateway } from '../../services/operator/ask.ts';
import { texts } from '../../texts.ts';
import { isCount } from './ids.ts';
import { useAction } from './use-action.ts';

const words = texts.operator.exports;

const tones: Readonly<Record<ExportStatus['status'], Tone>> = {
  not_started: 'neutral',
  running: 'info',
  completed: 'good',
  errored: 'bad',
  cancelled: 'warn',
};

export function ExportsPage() {
  const status = useLoad(() => askGateway<ExportStatus>('GET', 'export-parquet/status'), [], {
    everyMs: 2_000,
  });
  return (
    <>
      <Loaded of={status}>{(value) => <Current status={value} changed={() => status.again()} />}</Loaded>
      <Columns>
        <StartForm changed={() => status.again()} />
        <Loaded of={status}>{({ schedule }) => <Schedule schedule={schedule} />}</Loaded>
      </Columns>
    </>
  );
}

function Current({ status, changed }: { readonly status: ExportStatus; changed(): void }) {
  const action = useAction();
  const cancel = async (): Promise<void> => {
    const question = {
      title: words.cancelTitle,
      text: words.cancelText,
      confirm: words.cancel,
      danger: true,
    };
    if (!(await confirmAction(question))) return;
    action.run(async () => {
      await askGateway('POST', 'export-parquet/cancel');
      changed();
      return words.cancelled;
    });
  };
  const {
    outputDir,
    startHeight,
    endHeight,
    exportedToHeight,
    rows,
    files,
    durationInSeconds,
    endTime,
    error,
  } = status;
  const all = rows === undefined ? undefined : Object.values(rows).reduce((sum, count) => sum + count, 0);
  return (
    <Card
      title={words.current}
      tone={status.status === 'errored' ? 'bad' : 'neutral'}
      actions={
        status.status === 'running' && (
          <Button kind="danger" busy={action.busy} onClick={() => void cancel()}>
            {words.cancel}
          </Button>
        )
      }
    >
      <p>
        <Badge tone={tones[status.status]}>{words.statuses[status.status]}</Badge>{' '}
        {error !== undefined && <bdi class="foreign">{clampText(error, 500)}</bdi>}
      </p>
      {status.status === 'running' && (status.partitions ?? 0) > 0 && (
        <Progress label={words.progress} value={status.partitionsDone ?? 0} max={status.partitions ?? 0} />
      )}
      {status.status !== 'not_started' && (
        <Facts>
          {outputDir !== undefined && (
            <Fact label={words.folder}>
              <bdi class="foreign">{clampText(outputDir, 200)}</bdi>
            </Fact>
          )}
          {startHeight !== undefined && endHeight !== undefined && (
            <Fact label={words.heights}>
              {words.toHeights(formatCount(startHeight), formatCount(endHeight))}
            </Fact>
          )}
          {exportedToHeight != null && <Fact label={words.complete}>{formatCount(exportedToHeight)}</Fact>}
          {all !== undefined && <Fact label={words.rows}>{formatCount(all)}</Fact>}
          {files !== undefined && <Fact label={words.files}>{formatCount(files)}</Fact>}
          {durationInSeconds !== undefined && (
            <Fact label={words.took}>{formatDuration(durationInSeconds * 1000)}</Fact>
          )}
          {endTime !== undefined && (
            <Fact label={words.ended}>
              <Time at={new Date(endTime)} />
            </Fact>
          )}
        </Facts>
      )}
    </Card>
  );
}

function StartForm({ changed }: { changed(): void }) {
  const [outputDir, setOutputDir] = useState('');
  const [from, setFrom] = useState('0');
  const [to, setTo] = useState('');
  const [partition, setPartition] = useState('1000');
  const [resume, setResume] = useState(false);
  const [error, setError] = useState<string | undefined>(undefined);
  const action = useAction();
  const submit = (): void => {
    const refusal = refusalOf(outputDir.trim(), from.trim(), to.trim(), partition.trim());
    setError(refusal);
    if (refusal !== undefined) return;
    action.run(async () => {
      const answer = await askGateway<{ message: string; warning?: string }>('POST', 'export-parquet', {
        outputDir: outputDir.trim(),
        startHeight: Number(from),
        endHeight: Number(to),
        heightPartitionSize: Number(partition),
        resume,
      });
      changed();
      return answer.warning ?? words.started;
    });
  };
  return (
    <Card title={words.start}>
      <p class="soft">{words.startNote}</p>
      <Form onSubmit={submit} busy={action.busy} error={error}>
        <TextField
          label={words.folderLabel}
          value={outputDir}
          onInput={setOutputDir}
          hint={words.folderHint}
          mono
          maxLength={200}
        />
        <div class="operator-row">
          <NumberField label={words.from} value={from} onInput={setFrom} />
          <NumberField label={words.to} value={to} onInput={setTo} />
          <NumberField label={words.partition} value={partition} onInput={setPartition} />
        </div>
        <Checkbox label={words.resume} checked={resume} onChange={setResume} />
        <div class="actions">
          <Button submit kind="primary" busy={action.busy}>
            {words.submit}
          </Button>
        </div>
      </Form>
    </Card>
  );
}

function refusalOf(folder: string, from: string, to: string, partition: string): string | undefined {
  if (folder === '') return words.needsFolder;
  const areHeights = isCount(from) && isCount(to) && isCount(partition);
  return areHeights && Number(from) <= Number(to) && Number(partition) > 0 ? undefined : words.badHeights;
}

function Schedule({ schedule }: { readonly schedule: ExportStatus['schedule'] | undefined }) {
  return (
    <Card title={words.schedule}>
      {schedule === undefined ? (
        <Empty title={words.noSchedule}>{words.noScheduleNote}</Empty>
      ) : (
        <Facts>
          <Fact label={words.every}>{formatDuration(schedule.everyMinutes * 60_000)}</Fact>
          <Fact label={words.folder}>
            <bdi class="foreign">{clampText(schedule.outputDir, 200)}</bdi>
          </Fact>
          <Fact label={words.last}>
            {schedule.lastRunAt === null ? texts.operator.never : <Time at={new Date(schedule.lastRunAt)} />}{' '}
            {statusText(schedule.lastStatus)}
          </Fact>
          <Fact label={words.next}>
            <Time at={new Date(schedule.nextRunAt)} />
          </Fact>
        </Facts>
      )}
    </Card>
  );
}

const statusText = (status: string): string =>
  Object.entries(words.statuses).find(([name]) => name === status)?.[1] ?? status;
