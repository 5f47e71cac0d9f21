/** How long a name lasts and how many undernames it may have: both can be paid for by anybody. */
import { useState } from 'preact/hooks';
import { Button } from '../../kit/button.tsx';
import { Card, Columns } from '../../kit/card.tsx';
import { Form, NumberField, Select } from '../../kit/form.tsx';
import { formatCount, formatCredits, formatDollars } from '../../kit/format.ts';
import { Loaded, useLoad } from '../../kit/load.tsx';
import { Skeleton } from '../../kit/state.tsx';
import { type NameNow, type Purchase, priceOf } from '../../services/names.ts';
import { texts } from '../../texts.ts';
import { propose } from './proposal.ts';

const { name: words } = texts.names;
const mostUndernames = 65_535;

export function LeaseTab({ now }: { readonly now: NameNow }) {
  const isPermanent = now.type === 'permabuy';
  return (
    <>
      <p class="soft">{words.anybodyPays}</p>
      <Columns>
        {isPermanent ? <Permanent /> : <Extend now={now} />}
        {!isPermanent && <Upgrade now={now} />}
        {now.state === 'registered' && <MoreUndernames now={now} />}
      </Columns>
    </>
  );
}

const Permanent = () => (
  <Card title={words.lease}>
    <p>{words.isPermanent}</p>
  </Card>
);

function Extend({ now: { name, extendableYears } }: { readonly now: NameNow }) {
  const most = extendableYears ?? 5;
  const [years, setYears] = useState('1');
  const chosen = Math.min(Number(years), most);
  return (
    <Card title={words.extend}>
      <p class="soft">{words.extendNote(most)}</p>
      {most > 0 && (
        <Form
          onSubmit={() =>
            propose({ action: 'extend-lease', name, fields: { name, years: chosen }, owner: 'nobody' })
          }
        >
          <Select
            label={words.yearsLabel}
            value={String(chosen)}
            options={Array.from({ length: most }, (_, index) => ({
              value: String(index + 1),
              label: texts.names.search.years(index + 1),
            }))}
            onChange={setYears}
          />
          <Price of={{ action: 'extend-lease', name, years: chosen }} />
          <Continue />
        </Form>
      )}
    </Card>
  );
}

function Upgrade({ now: { name } }: { readonly now: NameNow }) {
  return (
    <Card title={words.upgrade}>
      <p class="soft">{words.upgradeNote}</p>
      <Form onSubmit={() => propose({ action: 'upgrade-name', name, fields: { name }, owner: 'nobody' })}>
        <Price of={{ action: 'upgrade-name', name }} />
        <Continue />
      </Form>
    </Card>
  );
}

function MoreUndernames({ now: { name, undernameLimit = 0, records } }: { readonly now: NameNow }) {
  const [text, setText] = useState('10');
  const count = /^[1-9][0-9]{0,4}$/.test(text) ? Number(text) : 0;
  const isWrong = count === 0 || count + undernameLimit > mostUndernames;
  return (
    <Card title={words.moreUndernames}>
      <p class="soft">
        {words.usedOf(formatCount(Math.max(0, (records?.length ?? 1) - 1)), formatCount(undernameLimit))}
      </p>
      <Form
        onSubmit={() => {
          if (isWrong) return;
          const fields = { name, increaseQty: count };
          propose({ action: 'increase-undername-limit', name, fields, owner: 'nobody' });
        }}
      >
        <NumberField
          label={words.moreLabel}
          value={text}
          onInput={setText}
          error={isWrong ? words.moreWrong : undefined}
        />
        {!isWrong && <Price of={{ action: 'increase-undername-limit', name, increaseQty: count }} />}
        <Continue disabled={isWrong} />
      </Form>
    </Card>
  );
}

const Continue = ({ disabled = false }: { readonly disabled?: boolean }) => (
  <div class="actions">
    <Button kind="primary" submit disabled={disabled}>
      {words.continue}
    </Button>
  </div>
);

function Price({ of: purchase }: { readonly of: Purchase }) {
  const load = useLoad((abort) => priceOf(purchase, abort), [JSON.stringify(purchase)]);
  return (
    <Loaded of={load} skeleton={<Skeleton lines={1} />}>
      {({ winc, cents }) => (
        <p>
          <strong class="number">{formatCredits(winc)}</strong>
          {cents !== undefined && <span class="soft"> · {formatDollars(cents / 100)}</span>}
        </p>
      )}
    </Loaded>
  );
}
