/** The road as a picture: every part leads to where it is used or looked after. */
import { useEffect, useState } from 'preact/hooks';
import { clampText } from '../../kit/format.ts';
import { Problem } from '../../kit/state.tsx';
import { texts } from '../../texts.ts';
import { type Box, layouts } from './road-layout.ts';
import type { RoadPart } from './road-parts.ts';

const narrow = window.matchMedia('(max-width: 48rem)');

interface Props {
  readonly parts: readonly RoadPart[];
  /** Whether it is known how the parts stand now. */
  readonly isLive: boolean;
}

export function Road({ parts, isLive }: Props) {
  const [isNarrow, setNarrow] = useState(narrow.matches);
  useEffect(() => {
    const look = (): void => setNarrow(narrow.matches);
    narrow.addEventListener('change', look);
    return () => narrow.removeEventListener('change', look);
  }, []);
  const layout = isNarrow ? layouts.phone : layouts.wide;
  return (
    <nav aria-label={texts.home.road.label}>
      <svg class={isLive ? 'road road-live' : 'road'} viewBox={`0 0 ${layout.width} ${layout.height}`}>
        <title>{texts.home.road.title}</title>
        {layout.ways.map((way) => (
          <path key={way} class="road-way" d={way} />
        ))}
        <path class="road-ground" d={layout.road} />
        <path class="road-line" d={layout.road} />
        {parts.map((part) => (
          <Part key={part.id} part={part} box={layout.boxes[part.id]} />
        ))}
      </svg>
      {parts.map(
        ({ id, label, problem }) =>
          problem !== undefined && (
            <Problem key={id} error={new Error(texts.home.road.problem(label, problem))} />
          ),
      )}
    </nav>
  );
}

/** From it on a box has room for three lines. */
const threeLines = 72;
/** About how many letters have room in so many pixels. */
const lettersIn = (width: number): number => Math.floor((width - 40) / 7);

/** The spaces part the texts for who hears them. */
function Part({ part, box }: { readonly part: RoadPart; readonly box: Box }) {
  const { label, what, href, tone, state } = part;
  const isHigh = box.height >= threeLines;
  const [left, middle] = [box.x + 18, box.y + box.height / 2];
  const last = middle + (isHigh ? 27 : 17);
  return (
    <a class={`road-part road-${tone}`} href={href}>
      <rect x={box.x} y={box.y} width={box.width} height={box.height} rx="10" />
      <text class="road-label" x={left} y={middle - (isHigh ? 14 : 5)}>
        {`${label} `}
        {!isHigh && (
          <tspan class="road-what" dx="8">
            {`${what} `}
          </tspan>
        )}
      </text>
      {isHigh && (
        <text class="road-what" x={left} y={middle + 5}>
          {`${what} `}
        </text>
      )}
      <circle class="road-dot" cx={left + 4} cy={last - 5} r="4" />
      <text class="road-state" x={left + 15} y={last}>
        {clampText(state, lettersIn(box.width))}
      </text>
    </a>
  );
}
