import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type TSchema, Type } from 'typebox';
import { readProcessConfig } from '../../config/config.ts';
import type { ReconciledRecord, ReconcileReport } from '../../formats/admin-answers.ts';
import { StartupError } from '../../kernel/errors.ts';
import { writeFileDurably } from '../../kernel/files.ts';
import { makeFilesPrivate, privateFileMode } from '../../kernel/private-files.ts';
import { rowReader } from '../../storage/sql/typed-rows.ts';
import { type AdminClient, adminClient } from '../admin-clients.ts';
import { overlapMs, readRestoreMark } from '../backup/restore-mark.ts';
import { type Command, printJson, readArguments, UsageError } from '../command.ts';
import { serviceUrl } from '../service-url.ts';

/** Something is left to a person, or somebody outside did not answer. */
const openExit = 3;
const pollMs = 500;

export const reconcile: Command = {
  usage: `turnpike reconcile [--dry-run] [--since <time>] [--report <file>] [--json]

Asks the card provider, the chains and the names' registry what happened since the backup that was restored, through the
payment service, which has to run. What the ledger does not know and what carries its own proof is credited, exactly once:
run it as often as you like. The rest is listed for a person. The report stays in DATA_DIR/reconcile.

  --dry-run        only tell what would be credited
  --since <time>   from when on, for example 2026-11-16T09:00:00Z; without it, of the backup that was restored, an hour earlier
  --report <file>  write the report there
  --url <url>      the payment service (default: the local one)
  --json           print the report for machines

The exit code is 0 when nothing is left open, 3 when a person has to look at something or somebody did not answer.`,
  async run(args) {
    makeFilesPrivate();
    const { values } = readArguments({
      args,
      options: {
        'dry-run': { type: 'boolean' },
        since: { type: 'string' },
        report: { type: 'string' },
        url: { type: 'string' },
        json: { type: 'boolean' },
      },
    });
    const config = readProcessConfig();
    const since = values.since === undefined ? sinceRestore(config.DATA_DIR) : timeOf(values.since);
    const dryRun = values['dry-run'] === true;
    const service = adminClient('payment', serviceUrl(config, 'payment', values.url), config);
    const report = await run(service, { since, dryRun });
    const name = `${new Date(report.begunAt).toISOString().replace(/[:.]/g, '-')}${dryRun ? '-dry-run' : ''}.json`;
    const path = values.report ?? join(config.DATA_DIR, 'reconcile', name);
    await writeFileDurably(path, `${JSON.stringify(report, null, 2)}\n`, privateFileMode);
    if (values.json === true) printJson(report);
    else console.log([...linesOf(report), `report: ${path}`].join('\n'));
    const isOpen = report.failures.length > 0 || report.records.some(({ state }) => state === 'open');
    return isOpen ? openExit : 0;
  },
};

function sinceRestore(dataDir: string): number {
  const mark = readRestoreMark(dataDir);
  if (mark === undefined) {
    throw new UsageError('DATA_DIR was not restored from a backup: say from when on with --since');
  }
  return mark.backupAt - overlapMs;
}

function timeOf(text: string): number {
  const time = Date.parse(text);
  if (!Number.isFinite(time))
    throw new UsageError(`--since is a time such as 2026-11-16T09:00:00Z, not "${text}"`);
  return time;
}

const orNull = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()]);
const readState = rowReader(
  'the report of the payment service',
  Type.Object({
    report: orNull(
      Type.Object({
        since: Type.Integer(),
        dryRun: Type.Boolean(),
        begunAt: Type.Integer(),
        endedAt: orNull(Type.Integer()),
        records: Type.Array(
          Type.Object({
            kind: Type.Enum(['card', 'x402', 'chain', 'bundle', 'name']),
            id: Type.String(),
            at: orNull(Type.Integer()),
            what: Type.String(),
            state: Type.Enum(['credited', 'would be credited', 'taken in', 'open']),
            address: orNull(Type.String()),
            winc: orNull(Type.String()),
            reason: orNull(Type.String()),
          }),
        ),
        failures: Type.Array(Type.Object({ source: Type.String(), reason: Type.String() })),
      }),
    ),
  }),
);

async function run(
  service: AdminClient,
  request: { readonly since: number; readonly dryRun: boolean },
): Promise<ReconcileReport> {
  let { report } = readState(await service.call('POST', 'reconcile', request));
  while (report?.endedAt === null) {
    await sleep(pollMs);
    ({ report } = readState(await service.call('GET', 'reconcile')));
  }
  if (report === null) throw new StartupError('the payment service was started anew meanwhile: run it again');
  return report;
}

function linesOf({ since, dryRun, records, failures }: ReconcileReport): string[] {
  const rows = records.map((record) => [
    record.kind,
    record.state,
    timeText(record.at),
    wordsOf(record),
    record.id,
  ]);
  const widths = [0, 1, 2].map((column) => Math.max(0, ...rows.map((row) => row[column]?.length ?? 0)));
  const counted = (state: ReconciledRecord['state']) =>
    records.filter((record) => record.state === state).length;
  const done = dryRun
    ? `${counted('would be credited')} would be credited`
    : `${counted('credited')} credited`;
  return [
    `since ${new Date(since).toISOString()}: ${records.length} that the ledger did not know, ${done}, ${counted('taken in')} taken in, ${counted('open')} open`,
    ...rows.map((row) => `  ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')}`),
    ...failures.map(({ source, reason }) => `  ${source} could not be listed, run it again: ${reason}`),
  ];
}

const timeText = (at: number | null): string => (at === null ? '' : new Date(at).toISOString());

const wordsOf = ({ what, address, winc, reason }: ReconciledRecord): string =>
  [what, address === null ? undefined : `${winc} winc for ${address}`, reason ?? undefined]
    .filter((part) => part !== undefined)
    .join(': ');
