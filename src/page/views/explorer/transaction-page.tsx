/** A transaction or data item: what it is, how far it is, what is in it, and how far it can be believed. */
import { useState } from 'preact/hooks';
import type { QueryNode } from '../../../formats/arweave/query-node.ts';
import type { Place } from '../../app/location.ts';
import { LinkButton } from '../../kit/button.tsx';
import { Card, Columns, Fact, Facts } from '../../kit/card.tsx';
import { formatBytes, formatCoin, formatDollars, formatTime } from '../../kit/format.ts';
import { Json } from '../../kit/json.tsx';
import { Loaded, useLoad } from '../../kit/load.tsx';
import { PageTitle } from '../../kit/page-title.tsx';
import { Empty } from '../../kit/state.tsx';
import { Tabs } from '../../kit/tabs.tsx';
import { Amount, Badge, Bytes, Id, Time } from '../../kit/value.tsx';
import { decodeBase64 } from '../../services/encoding.ts';
import { gatewayUrl, nodeFields, readTransaction } from '../../services/gateway.ts';
import { dollarsPerAr } from '../../services/payment.ts';
import { serviceUrl, settings } from '../../services/settings.ts';
import { texts } from '../../texts.ts';
import { type Entry, fileNameOf, isBundle, readEntry } from './entry.ts';
import { EntryList } from './entry-list.tsx';
import { playgroundHref } from './filter.ts';
import { sandboxUrl } from './ids.ts';
import { Preview } from './preview.tsx';
import { ownerForms } from './proof/owner-forms.ts';
import { ProofCard } from './proof-card.tsx';
import { StatusCard } from './status-card.tsx';
import { TagList } from './tag-list.tsx';

const everyMs = 5_000;

interface Props {
  readonly id: string;
  readonly place: Place;
}

export function TransactionPage({ id, place }: Props) {
  const isId = /^[A-Za-z0-9_-]{43}$/.test(id);
  const [isSettled, setSettled] = useState(false);
  const entry = useLoad(
    async (signal) => {
      const read = isId ? await readEntry(id, signal) : undefined;
      setSettled(!isId || (read?.content?.isStable === true && read.content.isVerified));
      return read;
    },
    [id],
    // What is permanent and proven does not change; the rest is looked at again.
    isSettled ? {} : { everyMs },
  );
  const node = entry.value?.node;
  return (
    <>
      <PageTitle title={titleOf(entry.value)} note={entry.value && <Summary entry={entry.value} />}>
        {entry.value !== undefined && <Links id={id} hasContent={entry.value.content !== undefined} />}
      </PageTitle>
      <Loaded of={entry}>
        {(found) => (found === undefined ? <NotFound id={id} /> : <Found entry={found} place={place} />)}
      </Loaded>
      {node !== undefined && <Raw node={node} />}
    </>
  );
}

function titleOf(entry: Entry | undefined): string {
  const words = texts.explorer.txPage;
  const node = entry?.node;
  if (node === undefined) return entry === undefined ? words.title : words.item;
  if (isBundle(node)) return words.bundle;
  return node.bundledIn === null && entry?.upload === undefined ? words.transaction : words.item;
}

/** In one line. */
function Summary({ entry: { node, upload, content } }: { readonly entry: Entry }) {
  const words = texts.explorer.txPage;
  const size = Number(node?.data.size ?? content?.size ?? 0);
  const name = node === undefined ? undefined : fileNameOf(node);
  return (
    <>
      {name !== undefined && (
        <>
          <bdi class="foreign">{name}</bdi> ·{' '}
        </>
      )}
      {size > 0 && `${formatBytes(size)} · `}
      <bdi class="foreign">
        {(node?.data.type ?? content?.contentType ?? words.noType).slice(0, 100) || words.noType}
      </bdi>
      {' · '}
      {node?.block == null
        ? upload?.info === 'failed'
          ? words.failed
          : words.notMined
        : words.inBlock(String(node.block.height))}
    </>
  );
}

function Links({ id, hasContent }: { readonly id: string; readonly hasContent: boolean }) {
  const words = texts.explorer.txPage;
  if (!hasContent) return null;
  const { sandbox } = settings();
  const router = serviceUrl('router');
  return (
    <>
      <LinkButton
        kind="primary"
        outside
        href={sandbox === undefined ? `${gatewayUrl()}/${id}` : sandboxUrl(sandbox, id)}
      >
        {words.openGateway}
      </LinkButton>
      {router !== undefined && (
        <LinkButton outside href={`${router}/${id}`}>
          {words.openRouter}
        </LinkButton>
      )}
      <LinkButton outside href={`${gatewayUrl()}/raw/${id}`}>
        {words.openRaw}
      </LinkButton>
    </>
  );
}

function NotFound({ id }: { readonly id: string }) {
  const words = texts.explorer.txPage;
  return (
    <Empty
      title={words.notFound}
      action={
        <>
          <LinkButton href={`/address/${encodeURIComponent(id)}`}>{words.asAddress}</LinkButton>
          <LinkButton href="/explorer">{texts.explorer.blockPage.newest}</LinkButton>
        </>
      }
    >
      {words.notFoundHelp}
    </Empty>
  );
}

function Found({ entry, place }: { readonly entry: Entry; readonly place: Place }) {
  const words = texts.explorer.txPage;
  const { id, node, content, isBlocked } = entry;
  const hasItems = node !== undefined && isBundle(node);
  const tab = hasItems && place.query.get('show') !== 'content' ? 'items' : 'content';
  return (
    <>
      {isBlocked && (
        <Card tone="warn" title={words.blocked}>
          <p>{words.blockedHelp}</p>
        </Card>
      )}
      <Columns>
        <div class="explorer-stack">
          <StatusCard entry={entry} />
          <ProofCard entry={entry} />
        </div>
        <div class="explorer-stack">
          <FactsCard entry={entry} />
          {node !== undefined && (
            <Card title={words.tags(node.tags.length)}>
              <TagList tags={node.tags} />
            </Card>
          )}
        </div>
      </Columns>
      {hasItems && (
        <Card title={words.inside}>
          <Tabs
            label={words.inside}
            current={tab}
            tabs={[
              { id: 'items', label: words.items, href: `/tx/${id}` },
              { id: 'content', label: words.content, href: `/tx/${id}?show=content` },
            ]}
          />
          {tab === 'items' ? (
            <EntryList filter={{ tags: [], bundle: id }} caption={words.items} empty={words.notUnpacked} />
          ) : (
            <Preview id={id} contentType="application/octet-stream" size={content?.size} />
          )}
        </Card>
      )}
      {!hasItems && content !== undefined && (
        <Card title={words.content}>
          <Preview id={id} contentType={content.contentType} size={content.size} />
        </Card>
      )}
    </>
  );
}

function FactsCard({ entry }: { readonly entry: Entry }) {
  const words = texts.explorer.txPage;
  const { id, node, upload, content, parents } = entry;
  const block = node?.block ?? undefined;
  return (
    <Card title={words.facts}>
      <Facts>
        <Fact label={words.id}>
          <Id value={id} full />
        </Fact>
        {block !== undefined && (
          <>
            <Fact label={words.block}>
              <a href={`/block/${block.height}`}>{block.height}</a>
            </Fact>
            <Fact label={words.time}>
              <Time at={block.timestamp * 1_000} />{' '}
              <span class="soft">({formatTime(block.timestamp * 1_000)})</span>
            </Fact>
          </>
        )}
        {node !== undefined && <OwnerFact node={node} />}
        {node !== undefined && node.recipient !== '' && (
          <Fact label={words.recipient}>
            <Id value={node.recipient} href={`/address/${node.recipient}`} what={words.recipient} />
          </Fact>
        )}
        {node !== undefined && node.quantity.winston !== '0' && (
          <Fact label={words.quantity}>{coins(node.quantity.winston)}</Fact>
        )}
        {node !== undefined && node.fee.winston !== '0' && <FeeFact winston={node.fee.winston} />}
        {upload?.winc !== undefined && (
          <Fact label={words.paid}>{upload.winc === 0n ? words.free : <Amount winc={upload.winc} />}</Fact>
        )}
        <Fact label={words.size}>
          <Bytes of={Number(node?.data.size ?? content?.size ?? 0)} />
        </Fact>
        <Fact label={words.type}>
          <bdi class="foreign">
            {(node?.data.type ?? content?.contentType ?? '').slice(0, 200) || words.noType}
          </bdi>
        </Fact>
        {parents.length > 0 && (
          <Fact label={words.path}>
            <ol class="explorer-path">
              {[...parents].reverse().map((parent) => (
                <li key={parent}>
                  <Id value={parent} href={`/tx/${parent}`} what={words.parent} />
                </li>
              ))}
              <li>{words.thisOne}</li>
            </ol>
          </Fact>
        )}
        {content?.root !== undefined && (
          <Fact label={words.place}>
            {words.placeOf(formatBytes(content.root.size), String(content.root.offset))}
          </Fact>
        )}
      </Facts>
    </Card>
  );
}

function OwnerFact({ node }: { readonly node: QueryNode }) {
  const words = texts.explorer.txPage;
  const key = decodeBase64(node.owner.key);
  const forms = key === undefined || key.length === 0 ? undefined : ownerForms(node.signatureType ?? 1, key);
  const isOther = forms !== undefined && forms.native !== node.owner.address;
  const native = isOther ? `/address/${forms.native}?owner=${node.owner.address}` : undefined;
  return (
    <Fact label={words.owner}>
      {isOther && (
        <>
          <Id value={forms.native} href={native} what={words.owner} />{' '}
          <Badge>{texts.explorer.addressPage.chains[forms.chain]}</Badge>
          <br />
          <span class="soft">{words.knownAs} </span>
        </>
      )}
      <Id value={node.owner.address} href={`/address/${node.owner.address}`} what={words.owner} />
    </Fact>
  );
}

function FeeFact({ winston }: { readonly winston: string }) {
  const price = useLoad((signal) => dollarsPerAr(signal).catch(() => undefined), []);
  const dollars = price.value === undefined ? undefined : (Number(winston) / 1e12) * price.value;
  return (
    <Fact label={texts.explorer.txPage.fee}>
      {coins(winston)} {dollars !== undefined && <span class="soft">({formatDollars(dollars)})</span>}
    </Fact>
  );
}

const coins = (winston: string): string =>
  /^[0-9]+$/.test(winston) ? formatCoin(BigInt(winston), 12, 'AR') : winston;

/** As the chain's nodes write it. */
function Raw({ node }: { readonly node: QueryNode }) {
  const words = texts.explorer;
  const raw = useLoad(
    (signal) => readTransaction(node.id, signal).catch(() => undefined),
    [node.id, node.block?.id],
  );
  const query = {
    text: `query ($id: ID!) { transaction(id: $id) { ${nodeFields} } }`,
    variables: { id: node.id },
  };
  return (
    <Card
      title={words.raw}
      actions={
        <LinkButton kind="quiet" small href={playgroundHref(query)}>
          {words.graphql}
        </LinkButton>
      }
    >
      <details>
        <summary>{words.showRaw}</summary>
        <Json value={raw.value ?? node} />
      </details>
    </Card>
  );
}
