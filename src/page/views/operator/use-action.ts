/** Something that the operator does: once at a time, with what came of it said at the edge of the page. */
import { useState } from 'preact/hooks';
import { notify } from '../../kit/notify.tsx';

export interface Action {
  readonly busy: boolean;
  /** The text that `work` answers is said when it is done; undefined: nothing is. */
  run(work: () => Promise<string | undefined>): void;
}

export function useAction(): Action {
  const [busy, setBusy] = useState(false);
  return {
    busy,
    run(work) {
      if (busy) return;
      setBusy(true);
      work()
        .then(
          (text) => text !== undefined && notify({ tone: 'good', text }),
          (error: unknown) =>
            notify({ tone: 'bad', text: error instanceof Error ? error.message : String(error) }),
        )
        .finally(() => setBusy(false));
    },
  };
}
