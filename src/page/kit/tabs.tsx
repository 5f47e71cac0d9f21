import { useEffect, useRef } from 'preact/hooks';

interface Tab {
  readonly id: string;
  readonly label: string;
  readonly href: string;
}

interface Props {
  readonly label: string;
  readonly tabs: readonly Tab[];
  readonly current: string;
}

/** Links to the parts of a view: each part has an address of its own. */
export function Tabs({ label, tabs, current }: Props) {
  const shown = useRef<HTMLAnchorElement>(null);
  // On a phone there are more than fit; the page itself stays where it is.
  useEffect(() => shown.current?.scrollIntoView({ block: 'nearest', inline: 'nearest' }), [current]);
  return (
    <nav class="tabs" aria-label={label}>
      <ul>
        {tabs.map(({ id, label: text, href }) => (
          <li key={id}>
            <a
              href={href}
              ref={id === current ? shown : null}
              aria-current={id === current ? 'page' : undefined}
            >
              {text}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}
