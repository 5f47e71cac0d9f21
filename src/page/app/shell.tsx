/** The frame around every view. */
import type { ComponentChildren, ComponentType } from 'preact';
import { useEffect, useErrorBoundary, useState } from 'preact/hooks';
import { Button, LinkButton } from '../kit/button.tsx';
import { ConfirmDialog } from '../kit/dialog.tsx';
import { Notices } from '../kit/notify.tsx';
import { PageTitle } from '../kit/page-title.tsx';
import { Empty, Problem, Skeleton } from '../kit/state.tsx';
import { texts } from '../texts.ts';
import { Header, searchFieldId } from './header.tsx';
import { navigate, type Place, place } from './location.ts';
import { hrefOf, type NavigationSection, PhoneNavigation, SideNavigation } from './navigation.tsx';
import { addCommands, type Command } from './palette.ts';
import { PaletteDialog, togglePalette } from './palette-dialog.tsx';
import { type Action, listenToKeys } from './shortcuts.ts';
import { openShortcuts, ShortcutsDialog } from './shortcuts-dialog.tsx';
import { theme, themes } from './theme.ts';

type View = ComponentType<{ place: Place }>;

export interface ShellSection extends NavigationSection {
  readonly load: () => Promise<{ readonly default: View }>;
}

interface Props {
  readonly sections: readonly ShellSection[];
  readonly sectionOf: (place: Place) => ShellSection | undefined;
  readonly version: string;
  /** Which money this is about; empty where it is real. */
  readonly world: string;
  /** The state of the connection, and the wallet in use: in the header. */
  readonly live?: ComponentChildren;
  readonly wallet?: ComponentChildren;
  /** Dialogs that any view may open. */
  readonly dialogs?: ComponentChildren;
}

export function Shell({ sections, sectionOf, version, world, live, wallet, dialogs }: Props) {
  const current = sectionOf(place.value);
  useEffect(() => listenToKeys((action) => perform(action, sections)), [sections]);
  useEffect(() => addCommands(() => ownCommands(sections), { isFirst: true }), [sections]);
  return (
    <div class="frame">
      <a class="skip" href="#main">
        {texts.shell.skip}
      </a>
      <SideNavigation sections={sections} current={current?.id} version={version} world={world} />
      <Header live={live} wallet={wallet} />
      <main id="main" class="content" tabIndex={-1}>
        {current === undefined ? <NotFound /> : <SectionView key={current.id} section={current} />}
      </main>
      <PhoneNavigation sections={sections} current={current?.id} />
      <PaletteDialog />
      <ShortcutsDialog letters={sections.map(({ id }) => [letterOf(id), texts.sections[id]])} />
      {dialogs}
      <ConfirmDialog />
      <Notices />
    </div>
  );
}

/** Each section is a program of its own, loaded when it is first shown. */
function SectionView({ section }: { readonly section: ShellSection }) {
  const [loaded, setLoaded] = useState<{ readonly View: View } | Error | undefined>(undefined);
  const [crash, recover] = useErrorBoundary((error: unknown) => console.error(error));
  const { path } = place.value;
  useEffect(() => {
    let isGone = false;
    section.load().then(
      ({ default: View }) => !isGone && setLoaded({ View }),
      (error: Error) => !isGone && setLoaded(error),
    );
    return () => {
      isGone = true;
    };
  }, [section]);
  // What one path breaks on another may show.
  useEffect(() => recover(), [path]);
  if (crash !== undefined) return <Broken title={texts.shell.crashed} error={crash as Error} />;
  if (loaded instanceof Error) return <Broken title={texts.shell.failedToLoad} error={loaded} />;
  if (loaded === undefined) return <Skeleton lines={6} />;
  return <loaded.View place={place.value} />;
}

/** A newer release has other files than the one that is open: only loading the whole page helps. */
function Broken({ title, error }: { readonly title: string; readonly error: Error }) {
  return (
    <>
      <PageTitle title={title} note={texts.shell.loadAgainHint}>
        <Button kind="primary" onClick={() => window.location.reload()}>
          {texts.shell.loadAgain}
        </Button>
      </PageTitle>
      <Problem error={error} />
    </>
  );
}

function NotFound() {
  return (
    <>
      <PageTitle title={texts.shell.notFound} />
      <Empty title={texts.shell.nothingHere} action={<LinkButton href="/">{texts.shell.toHome}</LinkButton>}>
        {texts.shell.notFoundHint}
      </Empty>
    </>
  );
}

const letterOf = (id: NavigationSection['id']): string => id.charAt(0);

function perform(action: Action, sections: readonly ShellSection[]): void {
  if (action.kind === 'palette') togglePalette();
  else if (action.kind === 'shortcuts') openShortcuts();
  else if (action.kind === 'search') document.getElementById(searchFieldId)?.focus();
  else if (action.kind === 'go') {
    const section = sections.find(({ id }) => letterOf(id) === action.letter);
    if (section !== undefined) navigate(hrefOf(section));
  }
}

function ownCommands(sections: readonly ShellSection[]): Command[] {
  return [
    ...sections.map((section) => ({
      id: `go-${section.id}`,
      label: texts.sections[section.id],
      hint: texts.shell.goHint(letterOf(section.id)),
      href: hrefOf(section),
    })),
    ...themes.map((each) => ({
      id: `theme-${each}`,
      label: texts.shell.themes[each],
      hint: texts.shell.theme,
      run: () => {
        theme.value = each;
      },
    })),
    { id: 'shortcuts', label: texts.shell.shortcuts, hint: '?', run: openShortcuts },
  ];
}
