/** The sections: at the side where there is room, at the bottom of a phone. */
import { Dialog } from '../kit/dialog.tsx';
import { Icon } from '../kit/icon.tsx';
import { useStateWhile } from '../kit/state-while.ts';
import { Badge } from '../kit/value.tsx';
import { texts } from '../texts.ts';
import { place } from './location.ts';
import { openShortcuts } from './shortcuts-dialog.tsx';
import { ThemeSwitch } from './theme-switch.tsx';

export type SectionId = keyof typeof texts.sections;

export interface NavigationSection {
  readonly id: SectionId;
  readonly roots: readonly string[];
}

interface Props {
  readonly sections: readonly NavigationSection[];
  readonly current: SectionId | undefined;
}

export const hrefOf = ({ roots }: NavigationSection): string => `/${roots[0] ?? ''}`;

/** How many have a place of their own at the bottom of a phone; the others are behind "More". */
const onPhone = 5;

interface SideProps extends Props {
  readonly version: string;
  readonly world: string;
}

export function SideNavigation({ sections, current, version, world }: SideProps) {
  return (
    <div class="side">
      <a class="brand" href="/">
        <img src="/icon.svg" alt="" width="28" height="28" />
        <span>{texts.product}</span>
      </a>
      {world !== '' && <Badge tone="warn">{world}</Badge>}
      <nav aria-label={texts.shell.sections}>
        <ul>
          {sections.map((section) => (
            <li key={section.id}>
              <SectionLink section={section} current={current} />
            </li>
          ))}
        </ul>
      </nav>
      <div class="side-end">
        <button type="button" class="side-button" onClick={openShortcuts} aria-keyshortcuts="?">
          <Icon name="keyboard" size={18} />
          {texts.shell.shortcuts}
        </button>
        <ThemeSwitch />
        <p class="soft version">{texts.shell.version(version)}</p>
      </div>
    </div>
  );
}

export function PhoneNavigation({ sections, current }: Props) {
  // Whoever has gone on is done choosing.
  const [isOpen, setOpen] = useStateWhile(false, [place.value.path]);
  const behindMore = sections.slice(onPhone);
  return (
    <>
      <nav class="bottom" aria-label={texts.shell.sections}>
        <ul>
          {sections.slice(0, onPhone).map((section) => (
            <li key={section.id}>
              <SectionLink section={section} current={current} />
            </li>
          ))}
          <li>
            <button
              type="button"
              aria-haspopup="dialog"
              aria-current={behindMore.some(({ id }) => id === current) ? 'true' : undefined}
              onClick={() => setOpen(true)}
            >
              <Icon name="menu" />
              <span>{texts.shell.more}</span>
            </button>
          </li>
        </ul>
      </nav>
      <Dialog open={isOpen} title={texts.shell.more} onClose={() => setOpen(false)}>
        <ul class="more">
          {behindMore.map((section) => (
            <li key={section.id}>
              <SectionLink section={section} current={current} />
            </li>
          ))}
        </ul>
        <ThemeSwitch />
      </Dialog>
    </>
  );
}

interface SectionLinkProps {
  readonly section: NavigationSection;
  readonly current: SectionId | undefined;
}

function SectionLink({ section, current }: SectionLinkProps) {
  return (
    <a href={hrefOf(section)} aria-current={section.id === current ? 'page' : undefined}>
      <Icon name={section.id} />
      <span>{texts.sections[section.id]}</span>
    </a>
  );
}
