/** Everything that a text may be is looked for at once: one hit leads there, several are listed, none says what was tried. */
import { useEffect } from 'preact/hooks';
import { navigate } from '../../app/location.ts';
import { LinkButton } from '../../kit/button.tsx';
import { Card } from '../../kit/card.tsx';
import { useLoad } from '../../kit/load.tsx';
import { PageTitle } from '../../kit/page-title.tsx';
import { Empty, Skeleton } from '../../kit/state.tsx';
import { Badge } from '../../kit/value.tsx';
import { texts } from '../../texts.ts';
import { isThere } from './search.ts';
import { type SearchTarget, searchTargets } from './search-target.ts';

interface Tried extends SearchTarget {
  readonly outcome: 'found' | 'not found' | 'unknown';
}

export function SearchPage({ text }: { readonly text: string }) {
  const words = texts.explorer;
  const targets = searchTargets(text);
  const tried = useLoad(
    (signal) =>
      Promise.all(
        targets.map(async (target): Promise<Tried> => {
          try {
            return { ...target, outcome: (await isThere(target, signal)) ? 'found' : 'not found' };
          } catch {
            return { ...target, outcome: 'unknown' };
          }
        }),
      ),
    [text],
  );
  const found = tried.value?.filter(({ outcome }) => outcome === 'found') ?? [];
  const only = found.length === 1 ? found[0] : undefined;
  useEffect(() => {
    if (only !== undefined) navigate(only.href, { replace: true });
  }, [only?.href]);
  return (
    <>
      <PageTitle
        title={words.searchTitle}
        note={<bdi class="foreign explorer-cut">{text.slice(0, 500)}</bdi>}
      />
      {tried.value === undefined || only !== undefined ? (
        <Card>
          <p role="status">{words.searching}</p>
          <Skeleton lines={3} />
        </Card>
      ) : (
        <Outcome targets={tried.value} />
      )}
    </>
  );
}

function Outcome({ targets }: { readonly targets: readonly Tried[] }) {
  const words = texts.explorer;
  if (targets.length === 0) return <Empty title={words.notOurs}>{words.searchHelp}</Empty>;
  const hasFound = targets.some(({ outcome }) => outcome === 'found');
  return (
    <Card title={hasFound ? words.severalFound : words.noneFound}>
      {!hasFound && <p class="soft">{words.tried}</p>}
      <ul class="explorer-hits">
        {targets.map(({ kind, value, href, outcome }) => (
          <li key={kind}>
            <div>
              <strong>{words.targets[kind]}</strong>
              <bdi class="foreign explorer-cut">{value}</bdi>
            </div>
            <Badge tone={tones[outcome]}>{words.outcomes[outcome]}</Badge>
            <LinkButton href={href} kind={outcome === 'found' ? 'primary' : 'quiet'} small>
              {outcome === 'found' ? words.open : words.openAnyway}
            </LinkButton>
          </li>
        ))}
      </ul>
      {!hasFound && <p class="soft">{words.notYet}</p>}
    </Card>
  );
}

const tones = { found: 'good', 'not found': 'neutral', unknown: 'warn' } as const;
