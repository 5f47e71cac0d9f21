/**
 * A list of transactions and items. It stays as it is while somebody reads it: what is new is counted in a bar above, and
 * shown when asked for. Pages come as one scrolls.
 */
import { useEffect, useRef, useState } from 'preact/hooks';
import { Button, LinkButton } from '../../kit/button.tsx';
import { formatBytes, formatCount } from '../../kit/format.ts';
import { notify } from '../../kit/notify.tsx';
import { Empty, Problem, Skeleton } from '../../kit/state.tsx';
import { Badge, Id, Time } from '../../kit/value.tsx';
import { VirtualTable } from '../../kit/virtual-table.tsx';
import { type ListedNode, readCount, readPage } from '../../services/gateway.ts';
import { texts } from '../../texts.ts';
import { writeCsv } from './csv.ts';
import { countQuery, type ListFilter, listQuery, playgroundHref, queryStringOf } from './filter.ts';
import { maxRows, PagedList } from './paged-list.ts';

interface Props {
  readonly filter: ListFilter;
  readonly caption: string;
  /** Counts what is new. */
  readonly live?: boolean;
  readonly empty?: string;
}

const liveEveryMs = 4_000;
const newestRows = 50;
/** Of a file; more is a matter for the gateway's exports. */
const maxExported = 10_000;

export function EntryList({ filter, caption, live = false, empty }: Props) {
  const key = queryStringOf(filter);
  const [round, setRound] = useState(0);
  const [, redraw] = useState(0);
  const [total, setTotal] = useState<number | undefined>(undefined);
  const list = useRef<PagedList<ListedNode> | undefined>(undefined);
  const words = texts.explorer;

  useEffect(() => {
    const stop = new AbortController();
    const made = new PagedList<ListedNode>(
      (size, after, signal) => {
        const { text, variables } = listQuery(filter, size, after);
        return readPage(text, variables, signal);
      },
      () => redraw((count) => count + 1),
    );
    list.current = made;
    setTotal(undefined);
    made.want(0);
    const { text, variables } = countQuery(filter);
    readCount(text, variables, stop.signal).then(setTotal, () => {});
    redraw((count) => count + 1);
    return () => {
      stop.abort();
      made.stop();
    };
  }, [key, round]);

  const rows = list.current;
  const news = useNewRows(live && filter.oldestFirst !== true, filter, rows, () =>
    redraw((count) => count + 1),
  );
  if (rows === undefined || (rows.rows.length === 0 && rows.isReading)) return <Skeleton lines={8} />;
  const loaded = rows.rows.length;
  const rowCount = rows.hasMore
    ? Math.min(maxRows, Math.max(loaded + 1, total ?? loaded + newestRows))
    : loaded;
  return (
    <div class="explorer-stack">
      <div class="explorer-bar">
        <span class="soft">{countText(total, loaded, rows.hasMore)}</span>
        <div class="actions">
          {live && (
            <Button kind="quiet" small pressed={news.isPaused} onClick={news.toggle}>
              {news.isPaused ? words.goOn : words.pause}
            </Button>
          )}
          <ExportButton filter={filter} />
          <LinkButton kind="quiet" small href={playgroundHref(listQuery(filter, newestRows))}>
            {words.graphql}
          </LinkButton>
        </div>
      </div>
      <div role="status" class="explorer-new">
        {rows.isReading && loaded >= 1_000 && <span class="soft">{words.reading(formatCount(loaded))}</span>}
        {news.count > 0 && (
          <Button small onClick={() => setRound(round + 1)}>
            {words.newRows(news.count >= newestRows ? `${newestRows}+` : String(news.count))}
          </Button>
        )}
      </div>
      {rows.error !== undefined && <Problem error={rows.error} again={() => rows.again()} />}
      {loaded === 0 && rows.error === undefined && <Empty title={empty ?? words.nothingFound} />}
      {loaded > 0 && (
        <VirtualTable<ListedNode>
          caption={caption}
          columns={columns}
          rowCount={rowCount}
          rowAt={(index) => rows.rowAt(index)}
          rowKey={(row) => row.id}
          onRange={(_first, last) => rows.want(last + 20)}
        />
      )}
      {loaded === maxRows && <p class="soft">{words.narrow(formatCount(maxRows))}</p>}
    </div>
  );
}

const columns = [
  {
    id: 'id',
    head: texts.explorer.columns.id,
    width: '11rem',
    cell: ({ id }: ListedNode) => <Id value={id} href={`/tx/${id}`} />,
  },
  {
    id: 'type',
    head: texts.explorer.columns.type,
    width: 'minmax(10rem, 1fr)',
    cell: (row: ListedNode) => <bdi class="foreign">{kindOf(row)}</bdi>,
  },
  {
    id: 'owner',
    head: texts.explorer.columns.owner,
    width: '11rem',
    cell: ({ owner }: ListedNode) => <Id value={owner.address} href={`/address/${owner.address}`} />,
  },
  {
    id: 'size',
    head: texts.explorer.columns.size,
    width: '6.5rem',
    align: 'end' as const,
    cell: ({ data }: ListedNode) => <span class="number">{formatBytes(Number(data.size))}</span>,
  },
  {
    id: 'block',
    head: texts.explorer.columns.block,
    width: '6rem',
    align: 'end' as const,
    cell: ({ block }: ListedNode) =>
      block === null ? (
        <Badge tone="info">{texts.explorer.waiting}</Badge>
      ) : (
        <a class="number" href={`/block/${block.height}`}>
          {block.height}
        </a>
      ),
  },
  {
    id: 'time',
    head: texts.explorer.columns.time,
    width: '10rem',
    align: 'end' as const,
    cell: ({ block }: ListedNode) => (block === null ? '–' : <Time at={block.timestamp * 1_000} />),
  },
];

/** In a word or two. */
function kindOf({ data, recipient }: ListedNode): string {
  if (data.type !== null && data.type !== '') return data.type.slice(0, 100);
  if (data.size === '0') return recipient === '' ? texts.explorer.kinds.empty : texts.explorer.kinds.transfer;
  return texts.explorer.kinds.unknown;
}

function countText(total: number | undefined, loaded: number, hasMore: boolean): string {
  if (total !== undefined) return texts.explorer.inAll(formatCount(Math.max(total, loaded)));
  return hasMore ? texts.explorer.atLeast(formatCount(loaded)) : texts.explorer.inAll(formatCount(loaded));
}

/** How many entries came since the list was read; entries of it that were mined meanwhile are brought up to date. */
function useNewRows(
  isLive: boolean,
  filter: ListFilter,
  list: PagedList<ListedNode> | undefined,
  changed: () => void,
): { readonly count: number; readonly isPaused: boolean; toggle(): void } {
  const [isPaused, setPaused] = useState(false);
  const [found, setFound] = useState<{ readonly list: unknown; readonly count: number }>({
    list: undefined,
    count: 0,
  });
  useEffect(() => {
    if (!isLive || isPaused || list === undefined) return undefined;
    const stop = new AbortController();
    const look = async () => {
      if (document.hidden || list.rows.length === 0) return;
      const { text, variables } = listQuery(filter, newestRows);
      const { rows } = await readPage(text, variables, stop.signal);
      const known = new Set(list.rows.slice(0, 4 * newestRows).map(({ id }) => id));
      setFound({ list, count: rows.filter(({ id }) => !known.has(id)).length });
      if (list.update(rows)) changed();
    };
    // A look that fails is made again; the list itself says what is wrong.
    const timer = setInterval(() => look().catch(() => {}), liveEveryMs);
    return () => {
      stop.abort();
      clearInterval(timer);
    };
  }, [isLive, isPaused, list]);
  return {
    count: found.list === list ? found.count : 0,
    isPaused,
    toggle: () => setPaused(!isPaused),
  };
}

function ExportButton({ filter }: { readonly filter: ListFilter }) {
  const [isBusy, setBusy] = useState(false);
  const save = async () => {
    setBusy(true);
    try {
      const rows: ListedNode[] = [];
      for (let next: string | undefined, isFirst = true; isFirst || next !== undefined; isFirst = false) {
        const { text, variables } = listQuery(filter, 1_000, next);
        const page = await readPage(text, variables);
        rows.push(...page.rows);
        next = page.rows.length === 0 || rows.length >= maxExported ? undefined : page.next;
      }
      saveText(writeCsv(rows.slice(0, maxExported)), 'turnpike.csv');
      notify({
        tone: 'good',
        text: texts.explorer.exported(formatCount(Math.min(rows.length, maxExported))),
      });
    } catch (error) {
      notify({ tone: 'bad', text: error instanceof Error ? error.message : String(error) });
    } finally {
      setBusy(false);
    }
  };
  return (
    <Button kind="quiet" small busy={isBusy} onClick={save}>
      {texts.explorer.csv}
    </Button>
  );
}

/** As a file of the person's; its type is one that no browser runs. */
function saveText(text: string, name: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/csv' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
