/** One name: what it opens, who owns it, until when, and everything that can be done with it. */
import { useState } from 'preact/hooks';
import { isArnsName, isArweaveId, isTtl } from '../../../formats/solana/name-rules.ts';
import { Button, LinkButton } from '../../kit/button.tsx';
import { Card, Columns, Fact, Facts } from '../../kit/card.tsx';
import { Form } from '../../kit/form.tsx';
import { formatCount, formatDuration, formatTime } from '../../kit/format.ts';
import { Loaded, useLoad } from '../../kit/load.tsx';
import { PageTitle } from '../../kit/page-title.tsx';
import { Empty, Skeleton } from '../../kit/state.tsx';
import { Tabs } from '../../kit/tabs.tsx';
import { Badge, Id } from '../../kit/value.tsx';
import {
  type NameNow,
  type NameRecord,
  nameUrl,
  type Resolved,
  readName,
  resolveAtGateway,
  resolveAtRouter,
} from '../../services/names.ts';
import { texts } from '../../texts.ts';
import { wallet } from '../../wallet/wallet.ts';
import { DetailsTab } from './details.tsx';
import { HistoryTab } from './history.tsx';
import { LeaseTab } from './lease.tsx';
import { OwnershipTab } from './ownership.tsx';
import { ownerWanted } from './ownership-of.ts';
import { propose } from './proposal.ts';
import { RecordFields } from './record-fields.tsx';
import { completedOf } from './search.tsx';
import { UndernamesTab } from './undernames.tsx';
import { WhereTab } from './where.tsx';

const { name: words } = texts.names;
const tabNames = ['overview', 'undernames', 'lease', 'ownership', 'details', 'where', 'history'] as const;
type TabName = (typeof tabNames)[number];

interface Props {
  readonly name: string;
  readonly tab: string | undefined;
  readonly query: URLSearchParams;
}

export function NameView({ name, tab, query }: Props) {
  if (!isArnsName(name)) {
    return (
      <>
        <PageTitle title={texts.sections.names} />
        <Empty title={texts.names.search.notAName} />
      </>
    );
  }
  return (
    <KnownName
      key={name}
      name={name}
      tab={tabNames.find((known) => known === tab) ?? 'overview'}
      query={query}
    />
  );
}

function KnownName({ name, tab, query }: Omit<Props, 'tab'> & { readonly tab: TabName }) {
  const done = completedOf(name);
  const load = useLoad((abort) => readName(name, abort), [name, done], { keep: true });
  const isRegistered =
    load.value !== undefined && ['registered', 'grace', 'lapsed'].includes(load.value.state);
  return (
    <>
      <PageTitle title={name}>{isRegistered && <OpenLinks name={name} />}</PageTitle>
      {isRegistered && (
        <Tabs
          label={words.tabsLabel}
          current={tab}
          tabs={tabNames.map((id) => ({
            id,
            label: words.tabs[id],
            href: id === 'overview' ? `/name/${name}` : `/name/${name}/${id}`,
          }))}
        />
      )}
      <Loaded
        of={load}
        skeleton={
          <Card>
            <Skeleton lines={8} />
          </Card>
        }
      >
        {(now) => (isRegistered ? <TabOf tab={tab} now={now} query={query} /> : <Unregistered now={now} />)}
      </Loaded>
    </>
  );
}

function OpenLinks({ name }: { readonly name: string }) {
  const links = (['gateway', 'router'] as const).flatMap((at) => {
    const href = nameUrl(at, name);
    return href === undefined ? [] : [{ at, href }];
  });
  return (
    <>
      {links.map(({ at, href }) => (
        <LinkButton key={at} href={href} outside kind={at === 'gateway' ? 'primary' : 'plain'}>
          {words.openThrough[at]}
        </LinkButton>
      ))}
    </>
  );
}

function TabOf({
  tab,
  now,
  query,
}: {
  readonly tab: TabName;
  readonly now: NameNow;
  readonly query: URLSearchParams;
}) {
  switch (tab) {
    case 'overview':
      return <Overview now={now} query={query} />;
    case 'undernames':
      return <UndernamesTab now={now} />;
    case 'lease':
      return <LeaseTab now={now} />;
    case 'ownership':
      return <OwnershipTab now={now} />;
    case 'details':
      return <DetailsTab now={now} />;
    case 'where':
      return <WhereTab now={now} />;
    case 'history':
      return <HistoryTab name={now.name} />;
  }
}

function Unregistered({ now: { name, state } }: { readonly now: NameNow }) {
  if (state === 'free') {
    return (
      <Empty
        title={words.freeNote}
        action={
          <LinkButton href={`/names?q=${name}`} kind="primary">
            {words.buyIt}
          </LinkButton>
        }
      />
    );
  }
  return <Empty title={state === 'reserved' ? words.reservedNote : words.returnedNote} />;
}

function Overview({ now, query }: { readonly now: NameNow; readonly query: URLSearchParams }) {
  const { token, antId, records, undernameLimit, startedAt, service } = now;
  const root = records?.find(({ undername }) => undername === '@');
  const used = (records?.length ?? 1) - 1;
  return (
    <Columns>
      <div class="names-column">
        <ShowsNow now={now} root={root} />
        <SetTarget now={now} root={root} proposed={query.get('target') ?? ''} />
      </div>
      <Card title={words.about}>
        <Facts>
          <Fact label={words.owner}>
            {token === undefined ? (
              <span class="soft">{words.unknown}</span>
            ) : (
              <>
                <Id value={token.owner} href={`/address/${token.owner}`} />
                {token.owner === service && <Badge tone="info">{words.custodial}</Badge>}
                {token.owner === wallet.value?.address && <Badge tone="good">{texts.names.you}</Badge>}
              </>
            )}
          </Fact>
          <Fact label={words.lease}>
            <LeaseText now={now} />
          </Fact>
          {startedAt !== undefined && <Fact label={words.registered}>{formatTime(new Date(startedAt))}</Fact>}
          {undernameLimit !== undefined && (
            <Fact label={words.undernames}>
              <a href={`/name/${now.name}/undernames`}>
                {words.usedOf(formatCount(used), formatCount(undernameLimit))}
              </a>
            </Fact>
          )}
          {token !== undefined && (
            <Fact label={words.controllers}>
              <ul class="names-list">
                {token.controllers.map((address) => (
                  <li key={address}>
                    <Id value={address} />{' '}
                    <span class="soft">
                      {address === service
                        ? words.serviceControls
                        : address === token.owner
                          ? words.isOwner
                          : ''}
                    </span>
                  </li>
                ))}
              </ul>
            </Fact>
          )}
          {antId !== undefined && (
            <Fact label={words.token}>
              <Id value={antId} />
            </Fact>
          )}
          {token !== undefined && token.description !== '' && (
            <Fact label={words.description}>
              <bdi class="foreign">{token.description}</bdi>
            </Fact>
          )}
        </Facts>
      </Card>
    </Columns>
  );
}

function LeaseText({ now: { state, endsAt, graceEndsAt } }: { readonly now: NameNow }) {
  if (endsAt === undefined) return <span>{words.permanent}</span>;
  if (state === 'registered') {
    const left = Date.parse(endsAt) - Date.now();
    return <span>{words.ends(formatTime(new Date(endsAt)), formatDuration(left))}</span>;
  }
  if (state === 'grace') {
    return <Badge tone="bad">{words.graceEnds(formatTime(new Date(graceEndsAt ?? endsAt)))}</Badge>;
  }
  return <Badge tone="bad">{words.lapsed}</Badge>;
}

/** What the chain says, and what readers get: gateways may remember an older answer for a while. */
function ShowsNow({ now: { name }, root }: { readonly now: NameNow; readonly root: NameRecord | undefined }) {
  const gateway = useLoad((abort) => resolveAtGateway(name, abort), [name, root?.target], { everyMs: 5_000 });
  const [asked, setAsked] = useState(0);
  const router = useLoad(
    async (abort) => (asked === 0 ? undefined : { found: await resolveAtRouter(name, abort) }),
    [name, root?.target, asked],
  );
  const hasRouter = nameUrl('router', name) !== undefined;
  return (
    <Card title={words.opens}>
      <Facts>
        <Fact label={words.showsNow.chain}>
          {root === undefined ? (
            <span class="soft">{words.nothing}</span>
          ) : (
            <>
              <Id value={root.target} href={`/tx/${root.target}`} />
              <span class="soft">{words.remembered(formatDuration(root.ttlSeconds * 1_000))}</span>
            </>
          )}
        </Fact>
        <Fact label={words.showsNow.gateway}>
          <Loaded of={gateway} skeleton={<Skeleton lines={1} />}>
            {(found) => <Seen found={found} root={root} />}
          </Loaded>
        </Fact>
        {hasRouter && (
          <Fact label={words.showsNow.router}>
            {asked === 0 ? (
              <Button small onClick={() => setAsked(1)}>
                {words.checkRouter}
              </Button>
            ) : (
              <Loaded of={router} skeleton={<Skeleton lines={1} />}>
                {(told) => <Seen found={told?.found} root={root} />}
              </Loaded>
            )}
          </Fact>
        )}
      </Facts>
    </Card>
  );
}

function Seen({
  found,
  root,
}: {
  readonly found: Resolved | undefined;
  readonly root: NameRecord | undefined;
}) {
  if (found === undefined) return <span class="soft">{words.nothing}</span>;
  const isSame = found.id === root?.target;
  return (
    <>
      <Id value={found.id} href={`/tx/${found.id}`} />
      <Badge tone={isSame ? 'good' : 'warn'}>
        {isSame ? words.same : words.behind(formatDuration((found.ttlSeconds ?? 0) * 1_000))}
      </Badge>
    </>
  );
}

interface SetTargetProps {
  readonly now: NameNow;
  readonly root: NameRecord | undefined;
  readonly proposed: string;
}

function SetTarget({ now, root, proposed }: SetTargetProps) {
  const [target, setTarget] = useState(proposed);
  const [ttl, setTtl] = useState(String(root?.ttlSeconds ?? 900));
  const isWrong = target !== '' && !isArweaveId(target);
  const isTtlWrong = !/^[0-9]+$/.test(ttl) || !isTtl(Number(ttl));
  const { antId, name } = now;
  return (
    <Card title={words.setTarget}>
      <Form
        onSubmit={() => {
          if (antId === undefined || target === '' || isWrong || isTtlWrong) return;
          propose({
            action: 'set-record',
            name,
            fields: { antId, undername: '@', transactionId: target, ttlSeconds: Number(ttl) },
            owner: ownerWanted(now),
          });
        }}
      >
        <RecordFields {...{ target, setTarget, ttl, setTtl, isTtlWrong }} isTargetWrong={isWrong} />
        <div class="actions">
          <Button
            kind="primary"
            submit
            disabled={target === '' || isWrong || isTtlWrong || antId === undefined}
          >
            {words.save}
          </Button>
          <LinkButton href="/upload" kind="quiet">
            {words.uploadFirst}
          </LinkButton>
        </div>
      </Form>
    </Card>
  );
}
