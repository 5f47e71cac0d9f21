/** What is new: blocks, transactions and items, narrowed as the address says. */
import { useState } from 'preact/hooks';
import { navigate, type Place } from '../../app/location.ts';
import { Button, LinkButton } from '../../kit/button.tsx';
import { Card } from '../../kit/card.tsx';
import { Form, NumberField, Select, TextArea, TextField } from '../../kit/form.tsx';
import { Loaded, useLoad } from '../../kit/load.tsx';
import { PageTitle } from '../../kit/page-title.tsx';
import { Time } from '../../kit/value.tsx';
import { newestBlocks } from '../../services/gateway.ts';
import { texts } from '../../texts.ts';
import { EntryList } from './entry-list.tsx';
import { filterOf, isFiltered, type ListFilter, queryStringOf } from './filter.ts';

const shownBlocks = 8;
const blocksEveryMs = 4_000;

export function LatestPage({ place }: { readonly place: Place }) {
  const words = texts.explorer;
  const filter = filterOf(place.query);
  return (
    <>
      <PageTitle title={texts.sections.explorer} note={words.note}>
        <LinkButton href="/explorer/events">{words.events.open}</LinkButton>
        <LinkButton href="/explorer/receipt">{words.checkReceipt}</LinkButton>
        <LinkButton href="/explorer/graphql">{words.graphql}</LinkButton>
      </PageTitle>
      {!isFiltered(filter) && <NewestBlocks />}
      <Card title={isFiltered(filter) ? words.found : words.newest}>
        <FilterForm key={queryStringOf(filter)} filter={filter} />
        <EntryList filter={filter} caption={words.newest} live />
      </Card>
    </>
  );
}

function NewestBlocks() {
  const words = texts.explorer;
  const blocks = useLoad((signal) => newestBlocks(shownBlocks, signal), [], { everyMs: blocksEveryMs });
  return (
    <Card title={words.newestBlocks}>
      <Loaded of={blocks} skeleton={<div class="explorer-blocks" />}>
        {(found) => (
          <ol class="explorer-blocks">
            {found.map(({ height, timestamp }) => (
              <li key={height}>
                <a class="figure" href={`/block/${height}`}>
                  <span class="figure-label">{words.block}</span>
                  <span class="figure-value">{height}</span>
                  <span class="figure-note">
                    <Time at={timestamp * 1_000} />
                  </span>
                </a>
              </li>
            ))}
          </ol>
        )}
      </Loaded>
    </Card>
  );
}

/** Open where something is set, so that it is seen why rows are missing. */
function FilterForm({ filter }: { readonly filter: ListFilter }) {
  const words = texts.explorer.filter;
  const [tags, setTags] = useState(filter.tags.map(({ name, value }) => `${name}:${value}`).join('\n'));
  const [owner, setOwner] = useState(filter.owner ?? '');
  const [recipient, setRecipient] = useState(filter.recipient ?? '');
  const [bundle, setBundle] = useState(filter.bundle ?? '');
  const [type, setType] = useState(filter.contentType ?? '');
  const [kind, setKind] = useState<NonNullable<ListFilter['kind']> | 'all'>(filter.kind ?? 'all');
  const [from, setFrom] = useState(filter.minHeight?.toString() ?? '');
  const [until, setUntil] = useState(filter.maxHeight?.toString() ?? '');
  const [order, setOrder] = useState<'newest' | 'oldest'>(filter.oldestFirst === true ? 'oldest' : 'newest');
  const apply = () => {
    const query = new URLSearchParams({ owner, to: recipient, bundle, type, kind, from, until, order });
    for (const line of tags.split('\n')) query.append('tag', line.trim());
    navigate(`/explorer${queryStringOf(filterOf(query))}`);
  };
  return (
    <details class="explorer-filter" open={isFiltered(filter)}>
      <summary>{words.title}</summary>
      <Form onSubmit={apply}>
        <div class="explorer-fields">
          <TextArea
            label={words.tags}
            hint={words.tagsHint}
            value={tags}
            onInput={setTags}
            placeholder="App-Name:Turnpike"
            rows={2}
          />
          <TextField
            label={words.type}
            value={type}
            onInput={setType}
            placeholder="image/png"
            list={commonTypes}
          />
          <TextField label={words.owner} value={owner} onInput={setOwner} mono />
          <TextField label={words.recipient} value={recipient} onInput={setRecipient} mono />
          <TextField label={words.bundle} value={bundle} onInput={setBundle} mono />
          <Select
            label={words.kind}
            value={kind}
            onChange={setKind}
            options={[
              { value: 'all', label: words.kinds.all },
              { value: 'transactions', label: words.kinds.transactions },
              { value: 'bundles', label: words.kinds.bundles },
            ]}
          />
          <NumberField label={words.from} value={from} onInput={setFrom} />
          <NumberField label={words.until} value={until} onInput={setUntil} />
          <Select
            label={words.order}
            value={order}
            onChange={setOrder}
            options={[
              { value: 'newest', label: words.newestFirst },
              { value: 'oldest', label: words.oldestFirst },
            ]}
          />
        </div>
        <div class="actions">
          <Button kind="primary" submit>
            {words.apply}
          </Button>
          {isFiltered(filter) && <LinkButton href="/explorer">{words.clear}</LinkButton>}
        </div>
      </Form>
    </details>
  );
}

const commonTypes = [
  'text/html',
  'text/plain',
  'application/json',
  'application/x.arweave-manifest+json',
  'application/pdf',
  'image/png',
  'image/jpeg',
  'image/svg+xml',
  'audio/mpeg',
  'video/mp4',
];
