/** The operator's section: signed in for a while, one page for each thing that an operator looks after. */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { OperatorService } from '../../../console/api.ts';
import type { Place } from '../../app/location.ts';
import { Button } from '../../kit/button.tsx';
import { formatTime } from '../../kit/format.ts';
import { useLoad } from '../../kit/load.tsx';
import { PageTitle } from '../../kit/page-title.tsx';
import { Problem, Skeleton } from '../../kit/state.tsx';
import { Tabs } from '../../kit/tabs.tsx';
import { closeSession, opens, readSession, session } from '../../services/operator/session.ts';
import { texts } from '../../texts.ts';
import { BundlerPage } from './bundler.tsx';
import { FigureCharts } from './charts.tsx';
import { Closed } from './closed.tsx';
import { ConfigurationPage } from './configuration.tsx';
import { ExportsPage } from './exports.tsx';
import { ImportPage } from './import.tsx';
import { IndexesPage } from './indexes.tsx';
import { LedgerPage } from './ledger.tsx';
import { LogsPage } from './logs.tsx';
import { ModerationPage } from './moderation.tsx';
import { NameActionsPage } from './name-actions.tsx';
import { OverviewPage } from './overview.tsx';
import { RouterPage } from './router-page.tsx';
import { SignIn } from './sign-in.tsx';
import { useAction } from './use-action.ts';
import { WebhooksPage } from './webhooks.tsx';

const words = texts.operator;
type PageId = keyof typeof words.pages;

interface PageProps {
  /** After the page's own. */
  readonly path: readonly string[];
  readonly query: URLSearchParams;
}

interface Page {
  /** Whose key it needs; without one it shows what any of them tells. */
  readonly service?: OperatorService;
  show(props: PageProps): ComponentChildren;
}

const pages: Readonly<Record<PageId, Page>> = {
  overview: { show: () => <OverviewPage /> },
  traffic: { show: () => <FigureCharts figures={trafficFigures} /> },
  process: { show: () => <FigureCharts figures={processFigures} withQueues /> },
  import: { service: 'gateway', show: ({ query }) => <ImportPage query={query} /> },
  bundler: { service: 'upload', show: (props) => <BundlerPage {...props} /> },
  ledger: { service: 'payment', show: (props) => <LedgerPage {...props} /> },
  names: { service: 'payment', show: ({ query }) => <NameActionsPage query={query} /> },
  moderation: { show: () => <ModerationPage /> },
  gateways: { service: 'router', show: (props) => <RouterPage {...props} /> },
  exports: { service: 'gateway', show: () => <ExportsPage /> },
  indexes: { service: 'gateway', show: () => <IndexesPage /> },
  webhooks: { service: 'gateway', show: () => <WebhooksPage /> },
  configuration: { show: ({ query }) => <ConfigurationPage query={query} /> },
  logs: { show: ({ query }) => <LogsPage query={query} /> },
};

const trafficFigures = [
  'requestsPerSecond',
  'errorsPerSecond',
  'latencyP50',
  'latencyP95',
  'inFlight',
  'cacheHitShare',
] as const;
const processFigures = ['eventLoopLag', 'memoryBytes', 'cpu'] as const;

const isPage = (id: string): id is PageId => Object.hasOwn(pages, id);
/** How soon an end of the session is seen. */
const sessionEveryMs = 30_000;

export default function OperatorView({ place: { segments, query } }: { readonly place: Place }) {
  const asked = useLoad(() => readSession(), [], { everyMs: sessionEveryMs });
  const known = session.value;
  if (known === undefined) {
    return (
      <>
        <PageTitle title={words.signIn.title} />
        {asked.error === undefined ? (
          <Skeleton lines={6} />
        ) : (
          <Problem error={asked.error} again={asked.again} />
        )}
      </>
    );
  }
  if (known.until === null) return <SignIn />;
  const [, name = 'overview', ...path] = segments;
  return <SignedIn id={isPage(name) ? name : 'overview'} path={path} query={query} until={known.until} />;
}

interface SignedInProps extends PageProps {
  readonly id: PageId;
  readonly until: number;
}

function SignedIn({ id, path, query, until }: SignedInProps) {
  const action = useAction();
  const { service, show } = pages[id];
  useEffect(() => {
    // At the very end the page learns that it has no session.
    const timer = setTimeout(
      () => void readSession().catch(() => undefined),
      Math.max(0, until - Date.now()) + 1_000,
    );
    return () => clearTimeout(timer);
  }, [until]);
  const tabs = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // On a phone most of them are beside the screen.
    tabs.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [id]);
  const signOut = (): void =>
    action.run(async () => {
      await closeSession();
      return undefined;
    });
  return (
    <>
      <PageTitle title={words.pages[id]} note={words.notes[id]}>
        <span class="soft operator-until">{words.signIn.until(formatTime(until))}</span>
        <Button small busy={action.busy} onClick={signOut}>
          {words.signIn.out}
        </Button>
      </PageTitle>
      <div class="operator-tabs" ref={tabs}>
        <Tabs
          label={words.sectionTabs}
          current={id}
          tabs={(Object.keys(pages) as PageId[]).map((each) => ({
            id: each,
            label: words.pages[each],
            href: each === 'overview' ? '/operator' : `/operator/${each}`,
          }))}
        />
      </div>
      {service !== undefined && !opens(service) ? <Closed service={service} /> : show({ path, query })}
    </>
  );
}
