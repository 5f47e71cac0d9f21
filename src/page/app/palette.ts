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
export function addCommands(source: () => readonly Command[]): () => void {
  sources.value = [...sources.value, source];
  return () => {
    sources.value = sources.value.filter((each) => each !== source);
  };
}

export const allCommands = (): Command[] => sources.value.flatMap((source) => source());
