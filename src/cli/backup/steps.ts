/** What a backup or a restore is at, on standard error: a bar where there is a terminal, lines elsewhere. */
import { ProgressBar } from '../progress-bar.ts';

export type Step = (what: string, total?: number) => (done: number) => void;

export interface Steps {
  readonly step: Step;
  /** Leaves the line. */
  end(): void;
}

export function showSteps(quiet: boolean): Steps {
  let bar: ProgressBar | undefined;
  const end = (): void => bar?.end();
  return {
    end,
    step(what, total) {
      end();
      bar = undefined;
      if (quiet) return () => {};
      if (total === undefined) {
        process.stderr.write(`${what} …\n`);
        return () => {};
      }
      const shown = new ProgressBar(what, total, { elsewhere: 'lines' });
      bar = shown;
      shown.moveTo(0, `0 of ${total}`);
      return (done) => shown.moveTo(done, `${done} of ${total}`);
    },
  };
}
