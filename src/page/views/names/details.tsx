/** What gateways and wallets may show about a name or an undername. A field that is left alone stays as it is. */
import { useState } from 'preact/hooks';
import {
  areKeywords,
  byteLength,
  isArweaveId,
  maxDescriptionLength,
  maxDisplayNameLength,
} from '../../../formats/solana/name-rules.ts';
import { Button } from '../../kit/button.tsx';
import { Card, Columns, Fact, Facts } from '../../kit/card.tsx';
import { Form, Select, TextArea, TextField } from '../../kit/form.tsx';
import { Empty } from '../../kit/state.tsx';
import { Id } from '../../kit/value.tsx';
import type { NameNow, NameRecord, NameToken } from '../../services/names.ts';
import { texts } from '../../texts.ts';
import { type MetadataFields, metadataChange } from './metadata-change.ts';
import { ownerWanted } from './ownership-of.ts';
import { propose } from './proposal.ts';

const { name: words } = texts.names;

export function DetailsTab({ now }: { readonly now: NameNow }) {
  const [undername, setUndername] = useState('@');
  const { records = [], token } = now;
  const record = records.find((known) => known.undername === undername);
  if (record === undefined) return <Empty title={words.unknown} />;
  return (
    <Columns>
      <Card title={words.tabs.details}>
        <p class="soft">{words.detailsNote}</p>
        {records.length > 1 && (
          <Select
            label={words.which}
            value={undername}
            options={records.map((known) => ({
              value: known.undername,
              label: known.undername === '@' ? words.theName : known.undername,
            }))}
            onChange={setUndername}
          />
        )}
        <Fields key={JSON.stringify(record)} now={now} record={record} />
      </Card>
      {token !== undefined && <TokenDetails token={token} />}
    </Columns>
  );
}

const shown = ({
  displayName = '',
  logo = '',
  description = '',
  keywords = [],
}: NameRecord): MetadataFields => ({
  displayName,
  logo,
  description,
  keywords: keywords.join(', '),
});

function Fields({ now, record }: { readonly now: NameNow; readonly record: NameRecord }) {
  const before = shown(record);
  const [fields, setFields] = useState(before);
  const set = (key: keyof MetadataFields) => (value: string) => setFields({ ...fields, [key]: value });
  const change = metadataChange(before, fields);
  const errors = errorsOf(fields);
  const isWrong = Object.values(errors).some((error) => error !== undefined);
  const { name, antId } = now;
  const hasAny = Object.values(before).some((text) => text !== '');
  return (
    <Form
      onSubmit={() => {
        if (isWrong || change === undefined) return;
        propose({
          action: 'set-record-metadata',
          name,
          fields: { antId, undername: record.undername, ...change },
          owner: ownerWanted(now),
        });
      }}
    >
      <TextField
        label={words.displayName}
        value={fields.displayName}
        onInput={set('displayName')}
        error={errors.displayName}
      />
      <TextArea
        label={words.description}
        value={fields.description}
        onInput={set('description')}
        rows={3}
        error={errors.description}
      />
      <TextField
        label={words.logo}
        value={fields.logo}
        onInput={(text) => set('logo')(text.trim())}
        mono
        error={errors.logo}
      />
      <TextField
        label={words.keywords}
        value={fields.keywords}
        onInput={set('keywords')}
        hint={words.keywordsHint}
        error={errors.keywords}
      />
      <div class="actions">
        <Button kind="primary" submit disabled={isWrong || change === undefined}>
          {words.save}
        </Button>
        {hasAny && (
          <Button
            onClick={() =>
              propose({
                action: 'remove-record-metadata',
                name,
                fields: { antId, undername: record.undername },
                owner: ownerWanted(now),
              })
            }
          >
            {words.removeDetails}
          </Button>
        )}
      </div>
    </Form>
  );
}

function errorsOf({ displayName, logo, description, keywords }: MetadataFields) {
  const list = keywords
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');
  return {
    displayName:
      byteLength(displayName) > maxDisplayNameLength ? words.tooLong(maxDisplayNameLength) : undefined,
    description:
      byteLength(description) > maxDescriptionLength ? words.tooLong(maxDescriptionLength) : undefined,
    logo: logo !== '' && !isArweaveId(logo) ? texts.names.search.notAnId : undefined,
    keywords: areKeywords(list) ? undefined : words.keywordsWrong,
  };
}

function TokenDetails({ token: { ticker, logo, description, keywords } }: { readonly token: NameToken }) {
  return (
    <Card title={words.tokenDetails}>
      <Facts>
        <Fact label={words.ticker}>
          <bdi class="foreign">{ticker}</bdi>
        </Fact>
        <Fact label={words.logo}>
          <Id value={logo} href={`/tx/${logo}`} />
        </Fact>
        <Fact label={words.description}>
          <bdi class="foreign">{description === '' ? '–' : description}</bdi>
        </Fact>
        <Fact label={words.keywords}>
          <bdi class="foreign">{keywords.length === 0 ? '–' : keywords.join(', ')}</bdi>
        </Fact>
      </Facts>
    </Card>
  );
}
