/**
 * How far a long piece of work is, on standard error: a bar on a terminal; elsewhere nothing, or a line at every tenth
 * of the way where somebody reads the log of it later.
 */
import { inBytes } from './amounts.ts';

export interface ProgressBarOptions {
  readonly out?: NodeJS.WriteStream;
  /** What is written where there is no terminal. */
  readonly elsewhere?: 'nothing' | 'lines';
  /** Of bytes also how many there are, and how long the rest takes at the speed so far. */
  readonly unit?: 'bytes';
}

const width = 30;

const inMinutes = (seconds: number): string =>
  seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;

export class ProgressBar {
  readonly #label: string;
  readonly #total: number;
  readonly #out: NodeJS.WriteStream;
  readonly #writesLines: boolean;
  readonly #countsBytes: boolean;
  readonly #begun = performance.now();
  #done = 0;
  #shown = '';
  #shownTenth = -1;

  constructor(label: string, total: number, options: ProgressBarOptions = {}) {
    this.#label = label;
    this.#total = Math.max(total, 1);
    this.#out = options.out ?? process.stderr;
    this.#writesLines = options.elsewhere === 'lines';
    this.#countsBytes = options.unit === 'bytes';
  }

  advance(amount: number): void {
    this.moveTo(this.#done + amount);
  }

  /** `note` stands behind the share, for example how many rows that is. */
  moveTo(done: number, note = this.#note(done)): void {
    this.#done = Math.min(done, this.#total);
    const share = this.#done / this.#total;
    const percent = `${Math.floor(share * 100)} %${note === '' ? '' : `  ${note}`}`;
    if (!this.#out.isTTY) {
      const tenth = Math.floor(share * 10);
      if (!this.#writesLines || tenth === this.#shownTenth) return;
      this.#shownTenth = tenth;
      this.#out.write(`${this.#label} ${percent}\n`);
      return;
    }
    const filled = Math.round(share * width);
    const text = `${this.#label} [${'#'.repeat(filled)}${'-'.repeat(width - filled)}] ${percent}`;
    if (text === this.#shown) return;
    // A text that is shorter than the one before leaves nothing of it behind.
    this.#out.write(`\r${text.padEnd(this.#shown.length)}`);
    this.#shown = text;
  }

  #note(done: number): string {
    if (!this.#countsBytes) return '';
    const seconds = (performance.now() - this.#begun) / 1_000;
    const left = Math.ceil((seconds / Math.max(done, 1)) * (this.#total - done));
    const rest = done >= this.#total || seconds < 1 ? '' : `, ${inMinutes(left)} left`;
    return `${inBytes(done)} of ${inBytes(this.#total)}${rest}`;
  }

  /** Leaves the line, so that what follows starts on its own. */
  end(): void {
    if (this.#shown !== '') this.#out.write('\n');
    this.#shown = '';
  }
}
