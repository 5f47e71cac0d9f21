/** Uploads on their way to the chain: bundles, the items in them, what holds them up. */
import type {
  Announcements,
  BundleReport,
  BundleWatch,
  ItemReport,
  ItemSummary,
  SurfaceState,
} from '../../../formats/admin-answers.ts';
import { navigate } from '../../app/location.ts';
import { LinkButton } from '../../kit/button.tsx';
import { Card, Columns, Fact, Facts, Figure, Figures } from '../../kit/card.tsx';
import { Select } from '../../kit/form.tsx';
import { clampText, formatBytes, formatCoin, formatCount } from '../../kit/format.ts';
import { Loaded, useLoad } from '../../kit/load.tsx';
import { Empty } from '../../kit/state.tsx';
import { type Column, Table } from '../../kit/table.tsx';
import { Tabs } from '../../kit/tabs.tsx';
import { Timeline } from '../../kit/timeline.tsx';
import type { Tone } from '../../kit/tone.ts';
import { Amount, Badge, Bytes, Id, Time } from '../../kit/value.tsx';
import { askUpload } from '../../services/operator/ask.ts';
import { texts } from '../../texts.ts';
import { FindForm } from './find-form.tsx';
import { isId } from './ids.ts';
import { pageQuery } from './page-query.ts';
import { Pager } from './pager.tsx';

const words = texts.operator.bundler;
const { unknown } = texts.operator;
const everyMs = 4_000;
const root = '/operator/bundler';

interface Props {
  /** After `/operator/bundler`. */
  readonly path: readonly string[];
  readonly query: URLSearchParams;
}

export function BundlerPage({ path: [part = 'bundles', id], query }: Props) {
  if (part === 'bundle' && id !== undefined) return <BundlePage id={id} query={query} />;
  if (part === 'item' && id !== undefined) return <ItemPage id={id} />;
  return (
    <>
      <Summary />
      <Card title={words.find}>
        <FindForm
          label={words.findLabel}
          button={words.findButton}
          refusal={(sought) => (isId(sought) ? undefined : texts.operator.import.badId)}
          onFind={(sought) => navigate(itemHref(sought))}
        />
      </Card>
      <Tabs
        label={words.partsLabel}
        current={part}
        tabs={[
          { id: 'bundles', label: words.parts.bundles, href: root },
          { id: 'items', label: words.parts.items, href: `${root}/items` },
          { id: 'announcements', label: words.parts.announcements, href: `${root}/announcements` },
        ]}
      />
      {part === 'items' && <ItemsPage query={query} />}
      {part === 'announcements' && <AnnouncementsPage />}
      {part === 'bundles' && <BundlesPage query={query} />}
    </>
  );
}

const bundleHref = (plan: string): string => `${root}/bundle/${encodeURIComponent(plan)}`;
const itemHref = (id: string): string => `${root}/item/${encodeURIComponent(id)}`;

function Summary() {
  const state = useLoad(() => askUpload<SurfaceState>('GET', 'state'), [], { everyMs });
  return (
    <Loaded of={state}>
      {({ figures }) => {
        const {
          itemsWaiting,
          itemsFailed,
          bundlesOpen,
          bundlesStuck,
          bundlesDamaged,
          announcementsWaiting,
          walletWinston,
        } = figures;
        return (
          <Figures>
            <Figure label={words.itemsWaiting} value={countOf(itemsWaiting)} href={`${root}/items`} />
            <Figure label={words.bundlesOpen} value={countOf(bundlesOpen)} href={`${root}?state=open`} />
            <Figure
              label={words.bundlesStuck}
              value={countOf(bundlesStuck)}
              tone={bundlesStuck === 0 ? 'good' : 'bad'}
              href={`${root}?state=stuck`}
            />
            {bundlesDamaged !== 0 && (
              <Figure
                label={words.bundlesDamaged}
                value={countOf(bundlesDamaged)}
                tone="bad"
                href={`${root}?state=damaged`}
              />
            )}
            <Figure
              label={words.itemsFailed}
              value={countOf(itemsFailed)}
              tone={itemsFailed === 0 ? 'good' : 'bad'}
              href={`${root}/items?state=failed`}
            />
            <Figure
              label={words.announcements}
              value={countOf(announcementsWaiting)}
              note={words.announcementsWaiting}
              href={`${root}/announcements`}
            />
            <Figure
              label={words.wallet}
              value={
                typeof walletWinston === 'string' ? formatCoin(BigInt(walletWinston), 12, 'AR') : unknown
              }
              tone={walletWinston === '0' ? 'bad' : 'neutral'}
            />
          </Figures>
        );
      }}
    </Loaded>
  );
}

const countOf = (value: unknown): string => (typeof value === 'number' ? formatCount(value) : unknown);

const stateTones: Readonly<Record<string, Tone>> = { permanent: 'good', dropped: 'bad', failed: 'bad' };

function BundleBadge({ bundle: { state, stuck, watch } }: { readonly bundle: BundleReport }) {
  return (
    <>
      <Badge tone={stateTones[state] ?? 'info'}>{words.bundleStates[state]}</Badge>{' '}
      {stuck && <Badge tone="bad">{words.bundleStates.stuck}</Badge>}
      {watch?.damage != null && <Badge tone="bad">{words.bundleStates.damaged}</Badge>}
    </>
  );
}

const bundleStates = [
  'open',
  'stuck',
  'planned',
  'prepared',
  'posted',
  'seeded',
  'permanent',
  'damaged',
  'dropped',
  'all',
] as const;

function BundlesPage({ query }: { readonly query: URLSearchParams }) {
  const asked = query.get('state');
  const state = bundleStates.find((each) => each === asked) ?? 'all';
  const before = query.get('before');
  const page = useLoad(
    () =>
      askUpload<{ bundles: readonly BundleReport[]; next: string | null }>(
        'GET',
        `bundles${pageQuery({ state: state === 'all' ? undefined : state, before })}`,
      ),
    [state, before],
    { everyMs, keep: true },
  );
  return (
    <Card title={words.parts.bundles}>
      <Select
        label={words.filter}
        value={state}
        options={bundleStates.map((value) => ({ value, label: words.bundleStates[value] }))}
        onChange={(value) => navigate(value === 'all' ? root : `${root}?state=${value}`)}
      />
      <Loaded of={page}>
        {({ bundles, next }) => (
          <>
            <Table
              caption={words.parts.bundles}
              rows={bundles}
              rowKey={({ plan }) => plan}
              empty={
                <Empty title={state === 'stuck' ? words.noBundlesStuck : words.noBundles}>
                  {words.noBundlesNote}
                </Empty>
              }
              columns={[
                {
                  id: 'plan',
                  head: words.bundle,
                  cell: ({ plan, txId }) => <Id value={txId ?? plan} href={bundleHref(plan)} />,
                },
                { id: 'state', head: words.state, cell: (bundle) => <BundleBadge bundle={bundle} /> },
                {
                  id: 'why',
                  head: words.why,
                  wide: true,
                  cell: ({ why }) => <bdi class="foreign">{clampText(why, 300)}</bdi>,
                },
                { id: 'items', head: words.items, align: 'end', cell: ({ items }) => formatCount(items) },
                { id: 'bytes', head: words.bytes, align: 'end', cell: ({ bytes }) => <Bytes of={bytes} /> },
                { id: 'made', head: words.made, cell: ({ createdAt }) => <Time at={createdAt} /> },
              ]}
            />
            <Pager query={query} path={root} next={next} />
          </>
        )}
      </Loaded>
    </Card>
  );
}

const itemColumns: readonly Column<ItemSummary>[] = [
  { id: 'id', head: words.item, cell: ({ id }) => <Id value={id} href={itemHref(id)} /> },
  {
    id: 'state',
    head: words.state,
    cell: ({ state }) => <Badge tone={stateTones[state] ?? 'info'}>{words.itemStates[state]}</Badge>,
  },
  {
    id: 'type',
    head: words.type,
    wide: true,
    cell: ({ contentType }) => (
      <bdi class="foreign">{contentType === '' ? unknown : clampText(contentType, 80)}</bdi>
    ),
  },
  { id: 'bytes', head: words.bytes, align: 'end', cell: ({ bytes }) => <Bytes of={bytes} /> },
  {
    id: 'paid',
    head: words.paid,
    align: 'end',
    cell: ({ winc }) => (winc === '0' ? words.free : <Amount winc={BigInt(winc)} />),
  },
  {
    id: 'signer',
    head: words.signer,
    cell: ({ signer }) => <Id value={signer} href={`/address/${signer}`} />,
  },
  { id: 'received', head: words.received, cell: ({ receivedAt }) => <Time at={receivedAt} /> },
];

const itemStates = ['new', 'planned', 'failed'] as const;

function ItemsPage({ query }: { readonly query: URLSearchParams }) {
  const asked = query.get('state');
  const state = itemStates.find((each) => each === asked) ?? 'new';
  const before = query.get('before');
  const page = useLoad(
    () =>
      askUpload<{ items: readonly ItemSummary[]; next: string | null }>(
        'GET',
        `items${pageQuery({ state, before })}`,
      ),
    [state, before],
    { everyMs, keep: true },
  );
  return (
    <Card title={words.parts.items}>
      <Select
        label={words.filter}
        value={state}
        options={itemStates.map((value) => ({ value, label: words.itemStates[value] }))}
        onChange={(value) => navigate(`${root}/items?state=${value}`)}
      />
      <Loaded of={page}>
        {({ items, next }) => (
          <>
            <Table
              caption={words.parts.items}
              rows={items}
              rowKey={({ id }) => id}
              columns={itemColumns}
              empty={<Empty title={words.noItems} />}
            />
            <Pager query={query} path={`${root}/items`} next={next} />
          </>
        )}
      </Loaded>
    </Card>
  );
}

function BundlePage({ id, query }: { readonly id: string; readonly query: URLSearchParams }) {
  const before = query.get('before');
  const page = useLoad(
    () =>
      askUpload<{ bundle: BundleReport; items: readonly ItemSummary[]; next: string | null }>(
        'GET',
        `bundles/${encodeURIComponent(id)}${pageQuery({ before })}`,
      ),
    [id, before],
    { everyMs, keep: true },
  );
  return (
    <>
      <p>
        <a href={root}>← {words.back}</a>
      </p>
      <Loaded of={page}>
        {({ bundle, items, next }) => (
          <>
            <Card
              title={words.bundleTitle}
              tone={bundle.stuck || bundle.watch?.damage != null ? 'bad' : 'neutral'}
            >
              <p class="operator-why">
                <BundleBadge bundle={bundle} /> <bdi class="foreign">{clampText(bundle.why, 600)}</bdi>
              </p>
              <BundleFacts bundle={bundle} />
            </Card>
            <Card title={words.itemsOf}>
              <Table
                caption={words.itemsOf}
                rows={items}
                rowKey={(item) => item.id}
                columns={itemColumns}
                empty={<Empty title={words.noItems} />}
              />
              <Pager query={query} path={bundleHref(id)} next={next} />
            </Card>
          </>
        )}
      </Loaded>
    </>
  );
}

function BundleFacts({ bundle }: { readonly bundle: BundleReport }) {
  const { txId, lastError, nextTryAt, blockHeight, confirmations } = bundle;
  return (
    <Facts>
      <Fact label={words.transaction}>
        {txId === null ? words.notMade : <Id value={txId} href={`/tx/${txId}`} />}
      </Fact>
      <Fact label={words.items}>{formatCount(bundle.items)}</Fact>
      <Fact label={words.bytes}>{formatBytes(bundle.bytes)}</Fact>
      <Fact label={words.made}>
        <Time at={bundle.createdAt} />
      </Fact>
      {bundle.postedAt !== null && (
        <Fact label={words.posted}>
          <Time at={bundle.postedAt} />
        </Fact>
      )}
      {bundle.seededAt !== null && (
        <Fact label={words.seeded}>
          <Time at={bundle.seededAt} />
        </Fact>
      )}
      <Fact label={words.seedings}>{formatCount(bundle.seedings)}</Fact>
      {blockHeight !== null && (
        <Fact label={words.height}>
          <a href={`/block/${blockHeight}`}>{formatCount(blockHeight)}</a>
        </Fact>
      )}
      <Fact label={words.confirmations}>
        {words.ofNeeded(confirmations ?? 0, bundle.confirmationsNeeded)}
      </Fact>
      {bundle.watch !== null && <WatchFacts watch={bundle.watch} />}
      <Fact label={words.tries}>{formatCount(bundle.tries)}</Fact>
      {lastError !== null && (
        <Fact label={words.lastError}>
          <bdi class="foreign">{clampText(lastError, 500)}</bdi>
          {bundle.lastErrorAt !== null && (
            <>
              {' · '}
              <Time at={bundle.lastErrorAt} />
            </>
          )}
        </Fact>
      )}
      {nextTryAt !== null && (
        <Fact label={words.nextTry}>
          <Time at={nextTryAt} />
        </Fact>
      )}
    </Facts>
  );
}

function WatchFacts({ watch }: { readonly watch: BundleWatch }) {
  return (
    <>
      <Fact label={words.looks}>
        {words.times(watch.looks)}
        {watch.lastAt !== null && (
          <>
            {' · '}
            <Time at={watch.lastAt} />
          </>
        )}
      </Fact>
      <Fact label={words.nextLook}>
        {watch.nextAt === null ? words.watchedLongEnough : <Time at={watch.nextAt} />}
      </Fact>
      {watch.chunksMended > 0 && <Fact label={words.mended}>{formatCount(watch.chunksMended)}</Fact>}
    </>
  );
}

function ItemPage({ id }: { readonly id: string }) {
  const report = useLoad(() => askUpload<ItemReport>('GET', `items/${encodeURIComponent(id)}`), [id], {
    everyMs,
  });
  return (
    <>
      <p>
        <a href={root}>← {words.back}</a>
      </p>
      <Loaded of={report}>
        {(item) => (
          <>
            <Card
              title={words.itemTitle}
              tone={item.state === 'failed' || item.inBundle?.stuck === true ? 'bad' : 'neutral'}
              actions={<LinkButton href={`/tx/${item.id}`}>{words.explorer}</LinkButton>}
            >
              <p class="operator-why">
                <Badge tone={stateTones[item.state] ?? 'info'}>{words.itemStates[item.state]}</Badge>{' '}
                <bdi class="foreign">{clampText(item.why, 600)}</bdi>
              </p>
              {item.blocked && <p>{words.blocked}</p>}
            </Card>
            <Columns>
              <Card title={words.way}>
                <Timeline
                  steps={item.steps.map(({ id: step, state, at, note }) => ({
                    id: step,
                    label: words.steps[step],
                    state,
                    at: at ?? undefined,
                    note: note === null ? undefined : <bdi class="foreign">{clampText(note, 300)}</bdi>,
                  }))}
                />
              </Card>
              <Card title={words.about}>
                <ItemFacts item={item} />
              </Card>
            </Columns>
            {item.inBundle !== null && (
              <Card title={<a href={bundleHref(item.inBundle.plan)}>{words.bundle}</a>}>
                <p class="operator-why">
                  <BundleBadge bundle={item.inBundle} />{' '}
                  <bdi class="foreign">{clampText(item.inBundle.why, 600)}</bdi>
                </p>
                <BundleFacts bundle={item.inBundle} />
              </Card>
            )}
          </>
        )}
      </Loaded>
    </>
  );
}

function ItemFacts({ item }: { readonly item: ItemReport }) {
  const { paid } = item;
  return (
    <Facts>
      <Fact label={words.item}>
        <Id value={item.id} href={`/tx/${item.id}`} />
      </Fact>
      <Fact label={words.signer}>
        <Id value={item.signer} href={`/address/${item.signer}`} />
      </Fact>
      <Fact label={words.type}>
        <bdi class="foreign">{item.contentType === '' ? unknown : clampText(item.contentType, 120)}</bdi>
      </Fact>
      <Fact label={words.bytes}>{formatBytes(item.bytes)}</Fact>
      <Fact label={words.paid}>
        {paid.how === 'free' ? (
          words.howPaid.free
        ) : (
          <>
            <Amount winc={BigInt(paid.winc)} /> {words.howPaid[paid.how]}
          </>
        )}
      </Fact>
      <Fact label={words.received}>
        <Time at={item.receivedAt} />
      </Fact>
      <Fact label={words.deadline}>{formatCount(item.deadlineHeight)}</Fact>
      {item.toldTo.length > 0 && (
        <Fact label={words.toldTo}>
          <bdi class="foreign">{clampText(item.toldTo.join(', '), 300)}</bdi>
        </Fact>
      )}
      {item.waitingFor.length > 0 && (
        <Fact label={words.waitsFor}>
          <bdi class="foreign">{clampText(item.waitingFor.join(', '), 300)}</bdi>
        </Fact>
      )}
      <Fact label={words.held}>{item.held ? texts.operator.yes : texts.operator.no}</Fact>
      <Fact label={words.failures}>{formatCount(item.failures)}</Fact>
    </Facts>
  );
}

function AnnouncementsPage() {
  const page = useLoad(() => askUpload<Announcements>('GET', 'announcements'), [], { everyMs });
  return (
    <Loaded of={page}>
      {({ gateways, items }) => (
        <>
          <Card title={words.gateways}>
            <Table
              caption={words.gateways}
              rows={gateways}
              rowKey={({ url }) => url}
              empty={<Empty title={words.noGateways}>{words.noGatewaysNote}</Empty>}
              columns={[
                {
                  id: 'host',
                  head: words.gateway,
                  wide: true,
                  cell: ({ host }) => <bdi class="foreign">{clampText(host, 120)}</bdi>,
                },
                {
                  id: 'state',
                  head: words.state,
                  cell: ({ listening }) => (
                    <Badge tone={listening ? 'good' : 'bad'}>
                      {listening ? words.listening : words.silent}
                    </Badge>
                  ),
                },
                {
                  id: 'waiting',
                  head: words.waiting,
                  align: 'end',
                  cell: ({ waiting }) => formatCount(waiting),
                },
                {
                  id: 'refused',
                  head: words.refused,
                  align: 'end',
                  cell: ({ refused }) => formatCount(refused),
                },
                {
                  id: 'dropped',
                  head: words.dropped,
                  align: 'end',
                  cell: ({ dropped }) => formatCount(dropped),
                },
                {
                  id: 'error',
                  head: words.lastError,
                  cell: ({ lastError }) =>
                    lastError === null ? '–' : <bdi class="foreign">{clampText(lastError, 200)}</bdi>,
                },
                {
                  id: 'next',
                  head: words.nextTry,
                  cell: ({ nextTryAt }) => (nextTryAt === null ? '–' : <Time at={nextTryAt} />),
                },
              ]}
            />
          </Card>
          <Card title={words.oldest}>
            <Table
              caption={words.oldest}
              rows={items}
              rowKey={({ id }) => id}
              empty={<Empty title={words.noneWait} />}
              columns={[
                {
                  id: 'id',
                  head: words.item,
                  wide: true,
                  cell: ({ id }) => <Id value={id} href={itemHref(id)} />,
                },
                { id: 'received', head: words.received, cell: ({ receivedAt }) => <Time at={receivedAt} /> },
                {
                  id: 'gateways',
                  head: words.waitsFor,
                  wide: true,
                  cell: ({ gateways: hosts }) => (
                    <bdi class="foreign">
                      {hosts.length === 0 ? words.allGateways : clampText(hosts.join(', '), 200)}
                    </bdi>
                  ),
                },
              ]}
            />
          </Card>
        </>
      )}
    </Loaded>
  );
}
