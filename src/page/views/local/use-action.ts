/** Something that a button does: one at a time, told when it is done, and told when it failed. */
import { useState } from 'preact/hooks';
import { notify } from '../../kit/notify.tsx';

export interface Actions {
  /** Which is under way. */
  readonly busy: string | undefined;
  /** `work` answers what to tell. */
  run(id: string, work: () => Promise<string | undefined>): Promise<void>;
}

/** `done` is called after each that succeeded. */
export function useActions(done?: () => void): Actions {
  const [busy, setBusy] = useState<string | undefined>(undefined);
  return {
    busy,
    async run(id, work) {
      if (busy !== undefined) return;
      setBusy(id);
      try {
        const text = await work();
        if (text !== undefined) notify({ tone: 'good', text });
        done?.();
      } catch (error) {
        notify({ tone: 'bad', text: error instanceof Error ? error.message : String(error) });
      } finally {
        setBusy(undefined);
      }
    },
  };
}
