/** The frame around every view. */
import { useSignal } from '@preact/signals';
import type { ComponentType } from 'preact';
import { useEffect } from 'preact/hooks';
import { texts } from '../texts.ts';
import type { Place } from './location.ts';
import { place } from './location.ts';

export interface ShellSection {
  readonly id: keyof typeof texts.sections;
  readonly roots: readonly string[];
  readonly load: () => Promise<{ readonly default: ComponentType<{ place: Place }> }>;
}

interface Props {
  readonly sections: readonly ShellSection[];
  readonly sectionOf: (place: Place) => ShellSection | undefined;
}

export function Shell({ sections, sectionOf }: Props) {
  const current = sectionOf(place.value);
  const view = useSignal<{ id: string; View: ComponentType<{ place: Place }> } | undefined>(undefined);
  useEffect(() => {
    let isGone = false;
    current?.load().then(({ default: View }) => {
      if (!isGone) view.value = { id: current.id, View };
    });
    return () => {
      isGone = true;
    };
  }, [current]);
  const View = view.value !== undefined && view.value.id === current?.id ? view.value.View : undefined;
  return (
    <>
      <nav>
        {sections.map(({ id, roots }) => (
          <a key={id} href={`/${roots[0]}`} aria-current={current?.id === id ? 'page' : undefined}>
            {texts.sections[id]}
          </a>
        ))}
      </nav>
      <main id="main">
        {View === undefined ? <p>{texts.shell.loading}</p> : <View place={place.value} />}
      </main>
    </>
  );
}
