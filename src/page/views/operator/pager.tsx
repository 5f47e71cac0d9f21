/** Steps through a list that is told in pages; which page it is stands in the address. */
import { LinkButton } from '../../kit/button.tsx';
import { texts } from '../../texts.ts';
import { pageQuery } from './page-query.ts';

interface Props {
  readonly query: URLSearchParams;
  /** Of the view. */
  readonly path: string;
  /** Where the following page begins; null on the last. */
  readonly next: string | null;
}

export function Pager({ query, path, next }: Props) {
  const isFirst = query.get('before') === null;
  if (isFirst && next === null) return null;
  const others = Object.fromEntries([...query].filter(([name]) => name !== 'before'));
  return (
    <nav class="actions" aria-label={texts.operator.older}>
      {!isFirst && <LinkButton href={`${path}${pageQuery(others)}`}>{texts.operator.newest}</LinkButton>}
      {next !== null && (
        <LinkButton href={`${path}${pageQuery({ ...others, before: next })}`}>
          {texts.operator.older}
        </LinkButton>
      )}
    </nav>
  );
}
