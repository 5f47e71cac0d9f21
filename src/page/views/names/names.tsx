/** Names: finding and buying one, one's own, every action, and each name by itself. */
import { useLayoutEffect } from 'preact/hooks';
import type { ViewProps } from '../../app/location.ts';
import { Card } from '../../kit/card.tsx';
import { PageTitle } from '../../kit/page-title.tsx';
import { Tabs } from '../../kit/tabs.tsx';
import { texts } from '../../texts.ts';
import { ActionsView } from './action-list.tsx';
import { nameActions, useFollowing } from './kept-actions.ts';
import { MineView } from './mine.tsx';
import { NameView } from './name.tsx';
import { ActionProgress } from './progress.tsx';
import { proposed } from './proposal.ts';
import { ReviewDialog } from './review.tsx';
import { SearchView } from './search.tsx';

export default function NamesView({ place }: ViewProps) {
  useFollowing();
  // Before anything can be proposed there.
  useLayoutEffect(() => {
    proposed.value = undefined;
  }, [place.path]);
  return (
    <>
      {viewOf(place)}
      <ReviewDialog />
    </>
  );
}

function viewOf({ segments: [root, part, detail], query }: ViewProps['place']) {
  if (root === 'name' && part !== undefined) return <NameView name={part} tab={detail} query={query} />;
  const current = part === 'mine' || part === 'actions' ? part : 'search';
  const { tabs } = texts.names;
  const action = detail === undefined ? undefined : nameActions.value?.find(({ id }) => id === detail);
  const title = current === 'search' ? texts.sections.names : tabs[current];
  return (
    <>
      {action === undefined ? (
        <PageTitle title={title} note={notes[current]} />
      ) : (
        <PageTitle title={texts.names.progress.title(texts.names.actionTitles[action.action], action.name)} />
      )}
      <Tabs
        label={texts.names.tabsLabel}
        current={current}
        tabs={[
          { id: 'search', label: tabs.search, href: '/names' },
          { id: 'mine', label: tabs.mine, href: '/names/mine' },
          { id: 'actions', label: tabs.actions, href: '/names/actions' },
        ]}
      />
      {current === 'search' && <SearchView query={query} />}
      {current === 'mine' && <MineView />}
      {current === 'actions' &&
        (detail === undefined ? (
          <ActionsView />
        ) : (
          <Card>
            <ActionProgress key={detail} id={detail} />
          </Card>
        ))}
    </>
  );
}

const notes = { search: texts.names.about, mine: undefined, actions: texts.names.actions.note };
