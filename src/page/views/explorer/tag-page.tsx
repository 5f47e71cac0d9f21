import { LinkButton } from '../../kit/button.tsx';
import { Card } from '../../kit/card.tsx';
import { PageTitle } from '../../kit/page-title.tsx';
import { texts } from '../../texts.ts';
import { EntryList } from './entry-list.tsx';
import { queryStringOf } from './filter.ts';

/** Everything that bears a tag. */
export function TagPage({ name, value }: { readonly name: string; readonly value: string }) {
  const words = texts.explorer;
  const filter = { tags: [{ name, value }] };
  return (
    <>
      <PageTitle title={words.tagTitle} note={<TagText name={name} value={value} />}>
        <LinkButton href={`/explorer${queryStringOf(filter)}`}>{words.narrowDown}</LinkButton>
      </PageTitle>
      <Card>
        <EntryList filter={filter} caption={words.tagTitle} live />
      </Card>
    </>
  );
}

function TagText({ name, value }: { readonly name: string; readonly value: string }) {
  return (
    <span class="explorer-cut">
      <bdi class="foreign">{name.slice(0, 500)}</bdi>: <bdi class="foreign">{value.slice(0, 500)}</bdi>
    </span>
  );
}
