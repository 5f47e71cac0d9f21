/** How far a long piece of work is, on standard error; silent where nobody is looking. */
export class ProgressBar {
  readonly #label: string;
  readonly #total: number;
  readonly #out: NodeJS.WriteStream;
  #done = 0;
  #shown = '';

  constructor(label: string, total: number, out: NodeJS.WriteStream = process.stderr) {
    this.#label = label;
    this.#total = Math.max(total, 1);
    this.#out = out;
  }

  advance(amount: number): void {
    this.moveTo(this.#done + amount);
  }

  moveTo(done: number): void {
    this.#done = Math.min(done, this.#total);
    if (!this.#out.isTTY) return;
    const share = this.#done / this.#total;
    const width = 30;
    const filled = Math.round(share * width);
    const text = `${this.#label} [${'#'.repeat(filled)}${'-'.repeat(width - filled)}] ${Math.floor(share * 100)} %`;
    if (text === this.#shown) return;
    this.#shown = text;
    this.#out.write(`\r${text}`);
  }

  /** Leaves the line, so that what follows starts on its own. */
  end(): void {
    if (this.#shown !== '') this.#out.write('\n');
    this.#shown = '';
  }
}
