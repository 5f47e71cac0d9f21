/** Who did what when, in the words of the domain: what a failure is read by, and what two runs of a seed are compared by. */

export interface StoryLine {
  /** Milliseconds since the beginning of the world. */
  readonly at: number;
  readonly who: string;
  readonly what: string;
}

export class Story {
  readonly lines: StoryLine[] = [];

  tell(at: number, who: string, what: string): void {
    this.lines.push({ at, who, what });
  }

  /** The last lines, one a line, as a person reads them. */
  text(last = Number.POSITIVE_INFINITY): string {
    const from = Math.max(0, this.lines.length - last);
    return this.lines
      .slice(from)
      .map(({ at, who, what }) => `${timeText(at)}  ${who.padEnd(12)} ${what}`)
      .join('\n');
  }
}

/** `2d 03:04:05.678` */
export function timeText(milliseconds: number): string {
  const seconds = Math.floor(milliseconds / 1_000);
  const two = (value: number) => String(value).padStart(2, '0');
  const clock = [Math.floor(seconds / 3_600) % 24, Math.floor(seconds / 60) % 60, seconds % 60].map(two);
  const rest = String(Math.floor(milliseconds) % 1_000).padStart(3, '0');
  return `${Math.floor(seconds / 86_400)}d ${clock.join(':')}.${rest}`;
}
