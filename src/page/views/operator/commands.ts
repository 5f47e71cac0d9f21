/** Every page of the operator's section from the command palette. */
import { addCommands } from '../../app/palette.ts';
import { texts } from '../../texts.ts';

const { pages, notes } = texts.operator;

export function addOperatorCommands(): void {
  addCommands(() =>
    (Object.keys(pages) as (keyof typeof pages)[]).map((id) => ({
      id: `operator-${id}`,
      label: `${texts.sections.operator}: ${pages[id]}`,
      hint: notes[id],
      href: id === 'overview' ? '/operator' : `/operator/${id}`,
    })),
  );
}
