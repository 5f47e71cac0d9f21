/** The playground: a query, its variables, the answer, and what can be asked. Its address is the query. */
import { useEffect, useLayoutEffect, useState } from 'preact/hooks';
import { exampleQuery } from '../../../formats/graphql-example.ts';
import { isRecord, memberOf, textOf, tryParseJson } from '../../../formats/json.ts';
import { navigate, type Place } from '../../app/location.ts';
import { Button, LinkButton } from '../../kit/button.tsx';
import { Card } from '../../kit/card.tsx';
import { Form, TextArea } from '../../kit/form.tsx';
import { formatDuration } from '../../kit/format.ts';
import { Code, Json } from '../../kit/json.tsx';
import { useLoad } from '../../kit/load.tsx';
import { PageTitle } from '../../kit/page-title.tsx';
import { Empty, Skeleton } from '../../kit/state.tsx';
import { Badge, Copy } from '../../kit/value.tsx';
import { askGraphql, type GraphqlAnswer, gatewayUrl } from '../../services/gateway.ts';
import { texts } from '../../texts.ts';
import { playgroundHref } from './filter.ts';

/** Longer queries have no address: browsers and servers would not take it. */
const maxHref = 6_000;

interface Answered {
  readonly answer: GraphqlAnswer;
  readonly ms: number;
}

export function GraphqlPage({ place }: { readonly place: Place }) {
  const words = texts.explorer.playground;
  const given = place.query.get('query');
  const [query, setQuery] = useState(given ?? exampleQuery);
  const [variables, setVariables] = useState(pretty(place.query.get('variables') ?? ''));
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<Error | string | undefined>(undefined);
  const [answered, setAnswered] = useState<Answered | undefined>(undefined);
  const [isText, setText] = useState(false);

  const run = async () => {
    const values = variables.trim() === '' ? {} : tryParseJson(variables);
    if (!isRecord(values)) return setError(words.badVariables);
    setError(undefined);
    setBusy(true);
    const href = playgroundHref({ text: query, variables: values });
    if (href.length <= maxHref && href !== `${place.path}?${place.query}`) navigate(href, { replace: true });
    const from = performance.now();
    try {
      setAnswered({ answer: await askGraphql(query, values), ms: performance.now() - from });
    } catch (thrown) {
      setAnswered(undefined);
      setError(thrown instanceof Error ? thrown : new Error(String(thrown)));
    } finally {
      setBusy(false);
    }
  };
  useEffect(() => {
    if (given !== null) run();
  }, []);
  // In the turn of each change, because the key may come next.
  useLayoutEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey) || event.isComposing) return;
      event.preventDefault();
      run();
    };
    document.addEventListener('keydown', onKeyDown);
    return () => document.removeEventListener('keydown', onKeyDown);
  }, [query, variables]);
  const problems = answered?.answer.errors ?? [];
  return (
    <>
      <PageTitle title={words.title} note={words.note}>
        <LinkButton href="/explorer">{texts.explorer.blockPage.newest}</LinkButton>
      </PageTitle>
      <div class="explorer-playground">
        <Card>
          <Form onSubmit={run} busy={isBusy} error={error}>
            <TextArea label={words.query} value={query} onInput={setQuery} rows={16} mono />
            <TextArea label={words.variables} value={variables} onInput={setVariables} rows={4} mono />
            <div class="actions">
              <Button kind="primary" submit busy={isBusy}>
                {words.run}
              </Button>
              <span class="soft">{words.shortcut}</span>
              <Copy text={`${gatewayUrl()}/graphql`} what={words.address} />
            </div>
          </Form>
        </Card>
        <Card
          title={words.answer}
          actions={
            answered !== undefined && (
              <>
                <Badge tone={problems.length > 0 ? 'bad' : 'good'}>{formatDuration(answered.ms)}</Badge>
                <Button kind="quiet" small pressed={isText} onClick={() => setText(!isText)}>
                  {words.asText}
                </Button>
              </>
            )
          }
        >
          <div aria-live="polite">
            {answered === undefined && !isBusy && <Empty title={words.noAnswer} />}
            {isBusy && <Skeleton lines={6} />}
            {problems.map(({ message }) => (
              <p key={message} class="problem">
                <bdi class="foreign">{String(message).slice(0, 500)}</bdi>
              </p>
            ))}
            {answered !== undefined &&
              !isBusy &&
              (isText ? (
                <Code text={JSON.stringify(answered.answer, null, 2).slice(0, 500_000)} what={words.answer} />
              ) : (
                <Json value={answered.answer.data ?? answered.answer} />
              ))}
          </div>
        </Card>
      </div>
      <Schema />
    </>
  );
}

const pretty = (text: string): string => {
  const value = text === '' ? undefined : tryParseJson(text);
  return value === undefined ? text : JSON.stringify(value, null, 2);
};

const ofType = 'type { name kind ofType { name kind ofType { name kind ofType { name kind } } } }';
const introspection = `{ __schema { types { name kind description fields { name description ${ofType} args { name description ${ofType} } } inputFields { name description ${ofType} } enumValues { name description } } } }`;

/** What can be asked, where the gateway tells it. */
function Schema() {
  const words = texts.explorer.playground;
  const schema = useLoad(
    async (signal) => memberOf((await askGraphql(introspection, {}, signal)).data, '__schema'),
    [],
  );
  const types = memberOf(schema.value, 'types');
  const shown = (Array.isArray(types) ? types : []).filter(
    (type) => !String(memberOf(type, 'name')).startsWith('__') && memberOf(type, 'kind') !== 'SCALAR',
  );
  return (
    <Card title={words.schema}>
      {schema.state === 'loading' && <Skeleton lines={4} />}
      {schema.state !== 'loading' && shown.length === 0 && <p class="soft">{words.noSchema}</p>}
      <div class="explorer-schema">
        {shown.slice(0, 200).map((type) => (
          <details key={String(memberOf(type, 'name'))}>
            <summary>
              <code>{textOf(type, 'name')}</code>
            </summary>
            <ul>
              {membersOf(type).map((member) => (
                <li key={textOf(member, 'name')}>
                  <code>{signatureOf(member)}</code>
                  {textOf(member, 'description') !== undefined && (
                    <p class="soft">{textOf(member, 'description', 500)}</p>
                  )}
                </li>
              ))}
            </ul>
          </details>
        ))}
      </div>
    </Card>
  );
}

function membersOf(type: unknown): readonly unknown[] {
  for (const name of ['fields', 'inputFields', 'enumValues']) {
    const members = memberOf(type, name);
    if (Array.isArray(members)) return members.slice(0, 200);
  }
  return [];
}

function signatureOf(member: unknown): string {
  const args = memberOf(member, 'args');
  const list = Array.isArray(args) && args.length > 0 ? `(${args.map(signatureOf).join(', ')})` : '';
  const type = memberOf(member, 'type');
  return `${textOf(member, 'name') ?? ''}${list}${type === undefined ? '' : `: ${typeName(type)}`}`;
}

/** As the query language writes it. */
function typeName(type: unknown): string {
  const inner = memberOf(type, 'ofType');
  if (memberOf(type, 'kind') === 'NON_NULL') return `${typeName(inner)}!`;
  if (memberOf(type, 'kind') === 'LIST') return `[${typeName(inner)}]`;
  return textOf(type, 'name') ?? '';
}
