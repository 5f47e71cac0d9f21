/** Whether a name is free, what it costs for each term, and what else would be. */
import { useState } from 'preact/hooks';
import { asciiLowerCase } from '../../../formats/ascii-case.ts';
import { isArnsName, isArweaveId } from '../../../formats/solana/name-rules.ts';
import { navigate } from '../../app/location.ts';
import { Button, LinkButton } from '../../kit/button.tsx';
import { Card } from '../../kit/card.tsx';
import { Form, TextField } from '../../kit/form.tsx';
import { formatCredits, formatDollars, formatTime } from '../../kit/format.ts';
import { Loaded, useLoad } from '../../kit/load.tsx';
import { Empty, Skeleton } from '../../kit/state.tsx';
import { useStateWhile } from '../../kit/state-while.ts';
import { type NameNow, type NamePrice, priceOf, readName } from '../../services/names.ts';
import { texts } from '../../texts.ts';
import { wallet } from '../../wallet/wallet.ts';
import { alternativesTo } from './alternatives.ts';
import { nameActions } from './kept-actions.ts';
import { propose } from './proposal.ts';

const { search: words } = texts.names;
const mostAlternatives = 6;

/** What people paste: `Name.ar`, `ar://name`, spaces around it. */
const tidy = (text: string): string =>
  asciiLowerCase(text.trim())
    .replace(/^ar:\/\//, '')
    .replace(/\.ar$/, '');

export function SearchView({ query }: { readonly query: URLSearchParams }) {
  const asked = tidy(query.get('q') ?? '');
  const [typed, setTyped] = useStateWhile(asked, [asked]);
  const isWrong = typed !== '' && !isArnsName(tidy(typed));
  return (
    <>
      <Card>
        <Form
          onSubmit={() => {
            const name = tidy(typed);
            if (isArnsName(name)) navigate(`/names?q=${encodeURIComponent(name)}`);
          }}
        >
          <div class="names-search">
            <TextField
              label={words.label}
              value={typed}
              onInput={setTyped}
              type="search"
              mono
              hint={words.hint}
              error={isWrong ? words.notAName : undefined}
            />
            <Button kind="primary" submit disabled={tidy(typed) === '' || isWrong}>
              {words.button}
            </Button>
          </div>
        </Form>
      </Card>
      {isArnsName(asked) ? <Found key={asked} name={asked} query={query} /> : <Empty title={words.empty} />}
    </>
  );
}

function Found({ name, query }: { readonly name: string; readonly query: URLSearchParams }) {
  const done = completedOf(name);
  const load = useLoad((abort) => readName(name, abort), [name, done], { keep: true });
  return (
    <Loaded
      of={load}
      skeleton={
        <Card>
          <Skeleton lines={5} />
        </Card>
      }
    >
      {(now) => (now.state === 'free' ? <Free now={now} query={query} /> : <NotFree now={now} />)}
    </Loaded>
  );
}

/** How many actions on the name came to their end: what is known of it is old then. */
export const completedOf = (name: string): number =>
  (nameActions.value ?? []).filter((action) => action.name === name && action.stage === 'completed').length;

interface Term {
  readonly id: string;
  readonly type: 'lease' | 'permabuy';
  readonly years: number;
}

const terms: readonly Term[] = [
  ...[1, 2, 3, 4, 5].map((years) => ({ id: String(years), type: 'lease' as const, years })),
  { id: 'ever', type: 'permabuy', years: 0 },
];

function Free({ now: { name }, query }: { readonly now: NameNow; readonly query: URLSearchParams }) {
  const chosen = terms.find(({ id }) => id === query.get('term')) ?? terms[0];
  const [target, setTarget] = useState(query.get('target') ?? '');
  const load = useLoad(
    (abort) =>
      Promise.all(
        terms.map(({ type, years }) =>
          priceOf({ action: 'buy-name', name, type, ...(type === 'lease' && { years }) }, abort),
        ),
      ),
    [name],
  );
  const isWrong = target !== '' && !isArweaveId(target);
  function buy(way: 'credits' | 'card'): void {
    if (chosen === undefined || isWrong) return;
    const { type, years } = chosen;
    propose({
      action: 'buy-name',
      name,
      fields: {
        name,
        type,
        ...(type === 'lease' && { years }),
        ...(target !== '' && { antState: { transactionId: target } }),
      },
      owner: 'any',
      way,
    });
  }
  return (
    <Card title={<bdi>{words.free(name)}</bdi>} tone="good">
      <Loaded of={load} skeleton={<Skeleton lines={6} />}>
        {(prices) => (
          <>
            <fieldset class="names-terms">
              <legend>{words.choose}</legend>
              {terms.map((term, index) => (
                <TermOption
                  key={term.id}
                  term={term}
                  price={prices[index]}
                  isChosen={term === chosen}
                  choose={() => navigate(withTerm(name, term, query), { replace: true })}
                />
              ))}
            </fieldset>
            <p class="soft">{words.included(formatCredits(prices[0]?.surcharge ?? 0n))}</p>
            <TextField
              label={words.pointLabel}
              value={target}
              onInput={(text) => setTarget(text.trim())}
              mono
              hint={words.pointHint}
              error={isWrong ? words.notAnId : undefined}
            />
            <div class="actions">
              <Button kind="primary" disabled={isWrong} onClick={() => buy('credits')}>
                {words.withCredits}
              </Button>
              <Button disabled={isWrong} onClick={() => buy('card')}>
                {words.byCard}
              </Button>
            </div>
          </>
        )}
      </Loaded>
    </Card>
  );
}

function withTerm(name: string, term: Term, query: URLSearchParams): string {
  const next = new URLSearchParams(query);
  next.set('q', name);
  next.set('term', term.id);
  return `/names?${next}`;
}

interface TermOptionProps {
  readonly term: Term;
  readonly price: NamePrice | undefined;
  readonly isChosen: boolean;
  readonly choose: () => void;
}

function TermOption({ term: { id, type, years }, price, isChosen, choose }: TermOptionProps) {
  if (price === undefined) return null;
  const isLease = type === 'lease';
  return (
    <label class="names-term">
      <input type="radio" name="term" value={id} checked={isChosen} onChange={choose} />
      <span class="names-term-name">{isLease ? words.years(years) : words.permanent}</span>
      <span class="names-term-price number">{formatCredits(price.winc)}</span>
      <span class="soft number">
        {price.cents !== undefined && formatDollars(price.cents / 100)}
        {isLease && years > 1 && ` · ${words.perYear(formatCredits(price.winc / BigInt(years)))}`}
        {!isLease && ` · ${words.permanentNote}`}
      </span>
    </label>
  );
}

function NotFree({ now }: { readonly now: NameNow }) {
  const { name, state, token } = now;
  const isMine = token !== undefined && token.owner === wallet.value?.address;
  if (isMine) {
    return (
      <Card title={<bdi>{words.yours(name)}</bdi>} tone="info">
        <LinkButton href={`/name/${name}`} kind="primary">
          {words.manage}
        </LinkButton>
      </Card>
    );
  }
  const title =
    state === 'reserved'
      ? words.reserved(name)
      : state === 'returned'
        ? words.returned(name)
        : words.taken(name);
  const note =
    state === 'reserved'
      ? words.reservedNote
      : state === 'returned'
        ? words.returnedNote(formatTime(new Date(now.auctionEndsAt ?? 0)))
        : words.takenNote;
  const isRegistered = state !== 'reserved' && state !== 'returned';
  return (
    <Card
      title={<bdi>{title}</bdi>}
      tone="warn"
      {...(isRegistered && {
        actions: (
          <LinkButton href={`/name/${name}`} small>
            {words.lookAtIt}
          </LinkButton>
        ),
      })}
    >
      <p>{note}</p>
      <Alternatives name={name} />
    </Card>
  );
}

function Alternatives({ name }: { readonly name: string }) {
  const load = useLoad(
    async (abort) => {
      const others = await Promise.all(
        alternativesTo(name, 2 * mostAlternatives).map((one) => readName(one, abort)),
      );
      return others.filter(({ state }) => state === 'free').slice(0, mostAlternatives);
    },
    [name],
  );
  return (
    <Loaded of={load} skeleton={<Skeleton lines={1} />}>
      {(free) =>
        free.length === 0 ? (
          <p class="soft">{words.noAlternatives}</p>
        ) : (
          <div class="actions">
            {free.map((other) => (
              <LinkButton key={other.name} href={`/names?q=${other.name}`} small>
                {other.name}
              </LinkButton>
            ))}
          </div>
        )
      }
    </Loaded>
  );
}
