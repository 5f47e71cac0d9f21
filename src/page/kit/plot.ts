/** Draws a chart with uPlot in the colours of the page. Loaded with the first chart that is shown. */
import uPlot from 'uplot';
import { texts } from '../texts.ts';
import { formatTime } from './format.ts';
import { alignSeries, type Series } from './series.ts';

export interface Plot {
  update(series: readonly Series[]): void;
  destroy(): void;
}

const height = 220;

export function drawPlot(
  element: HTMLElement,
  series: readonly Series[],
  format: (value: number) => string,
  kind: 'line' | 'bars',
): Plot {
  const make = (): uPlot =>
    new uPlot(optionsFor(element, series, format, kind), alignSeries(series), element);
  let latest = series;
  let plot = make();
  const sizes = new ResizeObserver(() => {
    const width = Math.floor(element.clientWidth);
    if (width > 0 && width !== plot.width) plot.setSize({ width, height });
  });
  sizes.observe(element);
  // Colours are part of what was drawn: another theme draws it again.
  const redraw = (): void => {
    plot.destroy();
    series = latest;
    plot = make();
  };
  const themes = new MutationObserver(redraw);
  themes.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] });
  const scheme = window.matchMedia('(prefers-color-scheme: dark)');
  scheme.addEventListener('change', redraw);
  return {
    update(next) {
      const isSameShape =
        next.length === latest.length && next.every(({ label }, at) => label === latest[at]?.label);
      latest = next;
      if (isSameShape) plot.setData(alignSeries(next));
      else redraw();
    },
    destroy() {
      scheme.removeEventListener('change', redraw);
      themes.disconnect();
      sizes.disconnect();
      plot.destroy();
    },
  };
}

function optionsFor(
  element: HTMLElement,
  series: readonly Series[],
  format: (value: number) => string,
  kind: 'line' | 'bars',
): uPlot.Options {
  const [ink, line] = [colour(element, '--soft'), colour(element, '--line')];
  const axis: uPlot.Axis = {
    stroke: ink,
    grid: { stroke: line, width: 1 },
    ticks: { stroke: line, width: 1 },
  };
  const bars = uPlot.paths.bars?.({ size: [0.7, 40] });
  return {
    width: Math.max(200, Math.floor(element.clientWidth)),
    height,
    legend: { live: true },
    cursor: { drag: { x: false, y: false } },
    axes: [
      { ...axis, values: (_plot, times, _axis, _space, step) => times.map((time) => formatTick(time, step)) },
      { ...axis, size: 70, values: (_plot, values) => values.map((value) => format(value)) },
    ],
    scales: { y: { range: (_plot, least, most) => [Math.min(0, least ?? 0), most > 0 ? most * 1.1 : 1] } },
    series: [
      { label: texts.kit.time, value: (_plot, at) => (at === null ? '–' : formatTime(at * 1000)) },
      ...series.map(({ label }, at): uPlot.Series => {
        const stroke = colour(element, `--series-${(at % 6) + 1}`);
        return {
          label,
          stroke,
          width: 2,
          points: { show: false },
          value: (_plot, value) => (value === null ? '–' : format(value)),
          ...(kind === 'bars' && bars !== undefined && { fill: stroke, paths: bars }),
        };
      }),
    ],
  };
}

const days = new Intl.DateTimeFormat(texts.kit.locale, { month: 'short', day: 'numeric' });
const minutes = new Intl.DateTimeFormat(texts.kit.locale, {
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
});
const seconds = new Intl.DateTimeFormat(texts.kit.locale, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
});

/** As fine as the step from one to the next, both in seconds. */
function formatTick(time: number, step: number): string {
  const format = step >= 86_400 ? days : step >= 60 ? minutes : seconds;
  return format.format(new Date(time * 1000));
}

/** What a variable of the style stands for in the theme that is shown. */
function colour(element: HTMLElement, variable: string): string {
  const probe = document.createElement('span');
  probe.style.color = `var(${variable})`;
  element.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
