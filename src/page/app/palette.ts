/** What can be done from the command palette: sections add their own commands. */
import { signal } from '@preact/signals';

export interface Command {
  readonly id: string;
  readonly label: string;
  readonly hint?: string | undefined;
  /** Where it leads, or what it does. */
  readonly href?: string | undefined;
  readonly run?: (() => void) | undefined;
}

const sources = signal<readonly (() => readonly Command[])[]>([]);

/** `source` is asked whenever the palette is opened. Answers how to take it away again. */
export function addCommands(
  source: () => readonly Command[],
  { isFirst = false }: { isFirst?: boolean } = {},
): () => void {
  sources.value = isFirst ? [source, ...sources.value] : [...sources.value, source];
  return () => {
    sources.value = sources.value.filter((each) => each !== source);
  };
}

export const allCommands = (): Command[] => sources.value.flatMap((source) => source());

const mostShown = 50;

/** Commands that have every word of the query in them, those first that begin with it. */
export function matchCommands(commands: readonly Command[], query: string): Command[] {
  const words = wordsOf(query);
  return commands
    .flatMap((command, order) => {
      const score = scoreOf(command, words);
      return score === undefined ? [] : [{ command, order, score }];
    })
    .sort((a, b) => b.score - a.score || a.order - b.order)
    .slice(0, mostShown)
    .map(({ command }) => command);
}

/** Higher is nearer; undefined: a word is missing. A word that the label begins with counts most, one in the hint least. */
function scoreOf({ label, hint = '' }: Command, words: readonly string[]): number | undefined {
  const [own, beside] = [label.toLowerCase(), hint.toLowerCase()];
  let score = 0;
  for (const word of words) {
    if (own.startsWith(word)) score += 4;
    else if (wordsOf(own).some((each) => each.startsWith(word))) score += 3;
    else if (own.includes(word)) score += 2;
    else if (beside.includes(word)) score += 1;
    else return undefined;
  }
  return score;
}

const wordsOf = (text: string): string[] =>
  text
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
