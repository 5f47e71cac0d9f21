/** Whether everything is well, and what to do where it is not. */

import type { OperatorService, ServiceHealth } from '../../../console/api.ts';
import type { JobReport, SurfaceState } from '../../../formats/admin-answers.ts';
import { Card, Fact, Facts } from '../../kit/card.tsx';
import {
  clampText,
  formatBytes,
  formatCoin,
  formatCount,
  formatCredits,
  formatDuration,
  shortId,
} from '../../kit/format.ts';
import { Loaded, useLoad } from '../../kit/load.tsx';
import { Table } from '../../kit/table.tsx';
import type { Tone } from '../../kit/tone.ts';
import { Badge, Time } from '../../kit/value.tsx';
import { type Ask, askGateway, askOperator, askPayment, askUpload } from '../../services/operator/ask.ts';
import { opens } from '../../services/operator/session.ts';
import { texts } from '../../texts.ts';
import { FigureCharts } from './charts.tsx';
import { Problems } from './problems.tsx';

const words = texts.operator.overview;
const everyMs = 5_000;

interface Overview extends ServiceHealth {
  /** Undefined where the service has no such route, or the session does not open it. */
  readonly state: SurfaceState | undefined;
}

export function OverviewPage() {
  const health = useLoad(readOverview, [], { everyMs });
  return (
    <>
      <Loaded of={health}>
        {(services) => (
          <div class="operator-services">
            {services.map((service) => (
              <ServiceCard key={service.name} service={service} />
            ))}
          </div>
        )}
      </Loaded>
      <h2>{words.charts}</h2>
      <FigureCharts figures={['requestsPerSecond', 'errorsPerSecond', 'latencyP95']} />
    </>
  );
}

const states: readonly (readonly [OperatorService, Ask])[] = [
  ['gateway', askGateway],
  ['payment', askPayment],
  ['upload', askUpload],
];

async function readOverview(): Promise<readonly Overview[]> {
  const services = await askOperator<readonly ServiceHealth[]>('GET', 'health');
  return await Promise.all(
    services.map(async (service) => {
      const [, ask] = states.find(([name]) => name === service.name && opens(name)) ?? [];
      // How it is told already; this says more, where it can be had.
      const state = service.up ? await ask?.<SurfaceState>('GET', 'state').catch(() => undefined) : undefined;
      return { ...service, state };
    }),
  );
}

function ServiceCard({ service }: { readonly service: Overview }) {
  const { name, url, version, state } = service;
  const problems = [...new Set([...(state?.problems ?? []), ...service.problems])];
  const [tone, text] = healthOf(service, problems);
  return (
    <Card
      title={nameOf(name)}
      tone={tone === 'good' ? 'neutral' : tone}
      actions={<Badge tone={tone}>{text}</Badge>}
    >
      {problems.length > 0 ? <Problems problems={problems} /> : <p class="soft">{words.noProblems}</p>}
      <Facts>
        <Fact label={words.address}>
          <bdi class="foreign">{clampText(url, 80)}</bdi>
        </Fact>
        {version !== undefined && <Fact label={words.version}>{clampText(version, 40)}</Fact>}
        {state !== undefined && (
          <Fact label={words.since}>
            <Time at={state.startedAt} />
          </Fact>
        )}
      </Facts>
      {state !== undefined && Object.keys(state.figures).length > 0 && <Figures of={state.figures} />}
      {state !== undefined && state.jobs.length > 0 && <Jobs jobs={state.jobs} />}
    </Card>
  );
}

function Figures({ of }: { readonly of: SurfaceState['figures'] }) {
  return (
    <details class="operator-more">
      <summary>{words.figures}</summary>
      <Facts>
        {Object.entries(of).map(([figure, value]) => (
          <Fact key={figure} label={words.figureNames[figure] ?? figure}>
            {figureText(figure, value)}
          </Fact>
        ))}
      </Facts>
    </details>
  );
}

const names: Readonly<Record<string, string>> = texts.operator.services;
const nameOf = (name: string): string => names[name] ?? words.standIns[name] ?? name;

function healthOf({ up, ready }: ServiceHealth, problems: readonly string[]): readonly [Tone, string] {
  if (!up) return ['bad', words.down];
  if (ready === false) return ['bad', words.notReady];
  return problems.length > 0 ? ['warn', words.unwell] : ['good', words.well];
}

function figureText(figure: string, value: string | number | boolean | null): string {
  if (value === null) return texts.operator.unknown;
  if (typeof value === 'boolean') return value ? texts.operator.yes : texts.operator.no;
  if (figure.endsWith('Bytes')) return formatBytes(Number(value));
  if (typeof value === 'number') return formatCount(value);
  if (!/^-?\d{1,60}$/.test(value)) return shortId(value);
  if (figure.endsWith('Winston')) return formatCoin(BigInt(value), 12, 'AR');
  return figure.endsWith('Winc') ? formatCredits(BigInt(value)) : value;
}

const jobTones: Readonly<Record<JobReport['state'], Tone>> = {
  running: 'info',
  waiting: 'good',
  failing: 'bad',
  off: 'neutral',
};

const inTrouble = ({ state, stuck }: JobReport): boolean => stuck || state === 'failing';

function Jobs({ jobs }: { readonly jobs: readonly JobReport[] }) {
  const failing = jobs.filter(inTrouble).length;
  return (
    <details class="operator-more" open={failing > 0}>
      <summary>{words.jobsNote(failing, jobs.length)}</summary>
      <Table
        caption={words.jobs}
        rows={jobs.toSorted((a, b) => Number(inTrouble(b)) - Number(inTrouble(a)))}
        rowKey={({ part, name }) => `${part} ${name}`}
        columns={[
          { id: 'name', head: words.job, wide: true, cell: ({ name }) => name },
          {
            id: 'state',
            head: words.jobState,
            cell: ({ state, stuck }) => (
              <Badge tone={stuck ? 'bad' : jobTones[state]}>
                {stuck ? words.stuck : words.jobStates[state]}
              </Badge>
            ),
          },
          {
            id: 'last',
            head: words.lastRun,
            cell: ({ lastStartedAt, lastTookMs }) =>
              lastStartedAt === null ? (
                '–'
              ) : (
                <>
                  <Time at={lastStartedAt} />
                  {lastTookMs !== null && ` (${formatDuration(lastTookMs)})`}
                </>
              ),
          },
          {
            id: 'error',
            head: words.lastError,
            cell: ({ lastError }) =>
              lastError === null ? '–' : <bdi class="foreign">{clampText(lastError, 200)}</bdi>,
          },
          {
            id: 'next',
            head: words.nextRun,
            cell: ({ nextAt }) => (nextAt === null ? '–' : <Time at={nextAt} />),
          },
        ]}
      />
    </details>
  );
}
