/** What a process writes down, as it comes; the newest line is on top. */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { OperatorService } from '../../../console/api.ts';
import { navigate } from '../../app/location.ts';
import { Button } from '../../kit/button.tsx';
import { Card } from '../../kit/card.tsx';
import { Dialog } from '../../kit/dialog.tsx';
import { Select, TextField } from '../../kit/form.tsx';
import { clampText, formatCount, formatTime } from '../../kit/format.ts';
import { Code } from '../../kit/json.tsx';
import { Empty } from '../../kit/state.tsx';
import type { Tone } from '../../kit/tone.ts';
import { Badge, Copy } from '../../kit/value.tsx';
import { VirtualTable } from '../../kit/virtual-table.tsx';
import { streamConsole } from '../../services/console.ts';
import { opens, sessionEnded } from '../../services/operator/session.ts';
import { texts } from '../../texts.ts';
import { Closed } from './closed.tsx';
import { addLines, filterLines, type Level, type LogLine, levels, namesIn, readLine } from './log-lines.ts';
import { pageQuery } from './page-query.ts';

const words = texts.operator.logs;
/** The router's admin routes tell no log; it is in that of its process. */
const sources = ['gateway', 'payment', 'upload'] as const satisfies readonly OperatorService[];
type Source = (typeof sources)[number];

const flushMs = 200;
const retryMs = 1_000;
const firstLines = 500;
const mostCopied = 1_000;

interface Tail {
  readonly lines: readonly LogLine[];
  readonly state: 'connecting' | 'live' | 'again';
  readonly lost: number;
}

export function LogsPage({ query }: { readonly query: URLSearchParams }) {
  const open = sources.filter((each) => opens(each));
  const source = open.find((each) => each === query.get('of')) ?? open[0];
  if (source === undefined) return <Closed service="gateway" />;
  return <SourceLogs key={source} source={source} open={open} query={query} />;
}

interface SourceProps {
  readonly source: Source;
  readonly open: readonly Source[];
  readonly query: URLSearchParams;
}

function SourceLogs({ source, open, query }: SourceProps) {
  const level = levels.find((each) => each === query.get('level')) ?? 'info';
  const sought = query.get('q') ?? '';
  const name = query.get('part') ?? '';
  const [paused, setPaused] = useState<readonly LogLine[] | undefined>(undefined);
  const [detail, setDetail] = useState<LogLine | undefined>(undefined);
  const { tail, clear } = useTail(source, level);
  const show = (change: Readonly<Record<string, string>>): void => {
    const values = { of: source, level, part: name, q: sought, ...change };
    navigate(`/operator/logs${pageQuery(values)}`, { replace: true });
  };
  const lines = paused ?? tail.lines;
  const shown = filterLines(lines, { level, name, words: sought });
  const waiting = paused === undefined ? 0 : tail.lines.length - paused.length;
  return (
    <Card>
      <div class="operator-row">
        <Select
          label={words.source}
          value={source}
          options={open.map((value) => ({ value, label: texts.operator.services[value] }))}
          onChange={(value) => show({ of: value })}
        />
        <Select<Level>
          label={words.level}
          value={level}
          options={levels.map((value) => ({ value, label: words.levels[value] }))}
          onChange={(value) => show({ level: value })}
        />
        <Select
          label={words.writer}
          value={name}
          options={[
            { value: '', label: words.everyWriter },
            ...new Set([...namesIn(lines), ...(name === '' ? [] : [name])]),
          ].map((each) => (typeof each === 'string' ? { value: each, label: each } : each))}
          onChange={(value) => show({ part: value })}
        />
        <TextField
          label={words.words}
          type="search"
          value={sought}
          onInput={(value) => show({ q: value })}
          maxLength={200}
        />
      </div>
      <div class="operator-log-bar">
        <Badge tone={tail.state === 'live' ? 'good' : 'warn'}>
          {tail.state === 'live' ? words.live : tail.state === 'again' ? words.again : words.connecting}
        </Badge>
        <span class="soft">{words.count(formatCount(shown.length), formatCount(lines.length))}</span>
        {waiting > 0 && <span class="soft">{words.waiting(formatCount(waiting))}</span>}
        <span class="actions">
          <Button
            small
            pressed={paused !== undefined}
            onClick={() => setPaused(paused === undefined ? tail.lines : undefined)}
          >
            {paused === undefined ? words.pause : words.resume}
          </Button>
          <Button
            small
            onClick={() => {
              clear();
              setPaused(undefined);
            }}
          >
            {words.clear}
          </Button>
          <Copy
            text={shown
              .slice(-mostCopied)
              .map(({ text }) => text)
              .join('\n')}
            what={words.copy}
          />
        </span>
      </div>
      {tail.lost > 0 && <p role="status">{words.lost(formatCount(tail.lost))}</p>}
      {shown.length === 0 ? (
        <Empty title={words.empty}>{words.emptyNote}</Empty>
      ) : (
        <div class="operator-logs">
          <VirtualTable
            caption={words.region}
            rowCount={shown.length}
            rowHeight={34}
            rowAt={(index) => shown[shown.length - 1 - index]}
            rowKey={({ key }) => String(key)}
            columns={[
              {
                id: 'time',
                head: words.time,
                cell: ({ time }) => <span class="operator-time">{clockOf(time)}</span>,
              },
              {
                id: 'level',
                head: words.levelOf,
                cell: (line) => <Badge tone={levelTones[line.level]}>{line.level}</Badge>,
              },
              {
                id: 'message',
                head: words.message,
                wide: true,
                cell: (line) => (
                  <button type="button" class="link-button operator-log-line" onClick={() => setDetail(line)}>
                    <bdi class="foreign">
                      {clampText(line.message, 300)} <span class="soft">{clampText(line.rest, 300)}</span>
                    </bdi>
                  </button>
                ),
              },
            ]}
          />
        </div>
      )}
      {detail !== undefined && (
        <Dialog open wide title={clampText(detail.message, 120)} onClose={() => setDetail(undefined)}>
          <Code text={prettyOf(detail.text)} what={words.message} />
        </Dialog>
      )}
    </Card>
  );
}

const levelTones: Readonly<Record<Level, Tone>> = {
  trace: 'neutral',
  debug: 'neutral',
  info: 'info',
  warn: 'warn',
  error: 'bad',
  fatal: 'bad',
};

/** With the milliseconds, which tell lines apart. */
function clockOf(time: number | undefined): string {
  if (time === undefined) return '–';
  const date = new Date(time);
  const clock = date.toLocaleTimeString('en', { hour12: false });
  const isToday = date.toDateString() === new Date().toDateString();
  return isToday ? `${clock}.${String(date.getMilliseconds()).padStart(3, '0')}` : formatTime(date);
}

function prettyOf(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** The stream of a process, opened again whenever it ends; lines are taken over in small batches. */
function useTail(source: Source, level: Level) {
  const [tail, setTail] = useState<Tail>({ lines: [], state: 'connecting', lost: 0 });
  const waiting = useRef<LogLine[]>([]);
  useEffect(() => {
    const ending = new AbortController();
    const timer = setInterval(() => {
      const more = waiting.current.splice(0);
      if (more.length > 0) setTail((before) => ({ ...before, lines: addLines(before.lines, more) }));
    }, flushMs);
    const path = `/api/operator/${source}/logs?level=${level}&limit=${firstLines}`;
    void follow(path, ending.signal, {
      line: (data) => waiting.current.push(readLine(data)),
      lost: (count) => setTail((before) => ({ ...before, lost: before.lost + count })),
      state: (state) => setTail((before) => ({ ...before, state })),
    });
    return () => {
      ending.abort();
      clearInterval(timer);
    };
  }, [source, level]);
  return { tail, clear: () => setTail((before) => ({ ...before, lines: [], lost: 0 })) };
}

interface Heard {
  line(data: unknown): void;
  lost(count: number): void;
  state(state: Tail['state']): void;
}

async function follow(path: string, signal: AbortSignal, heard: Heard): Promise<void> {
  while (!signal.aborted) {
    try {
      await streamConsole(
        path,
        ({ event, data }) => {
          if (event === 'line') heard.line(data);
          if (event === 'lost') heard.lost(Number((data as { count?: unknown } | null)?.count) || 0);
        },
        signal,
        () => heard.state('live'),
      );
    } catch (error) {
      if (!signal.aborted && (error as { status?: unknown }).status === 401) sessionEnded();
    }
    if (signal.aborted) return;
    heard.state('again');
    await new Promise((resolve) => setTimeout(resolve, retryMs));
  }
}
