/** Problems as their service tells them, each with what to do about it. */

import { clampText } from '../../kit/format.ts';
import { Badge } from '../../kit/value.tsx';
import { texts } from '../../texts.ts';
import { adviceFor } from './advice.ts';

const { advice: words } = texts.operator;

interface Props {
  readonly problems: readonly string[];
  /** Without links to other pages of the console. */
  readonly isAlone?: boolean;
}

export function Problems({ problems, isAlone = false }: Props) {
  return (
    <ul class="operator-problems">
      {problems.map((problem) => {
        const { text, href } = adviceFor(problem);
        return (
          <li key={problem}>
            <p>
              <Badge tone="bad">!</Badge> <bdi class="foreign">{clampText(problem, 500)}</bdi>
            </p>
            <p class="soft">
              {text} {href !== undefined && !isAlone && <a href={href}>{words.show}</a>}
            </p>
          </li>
        );
      })}
    </ul>
  );
}
