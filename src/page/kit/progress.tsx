import { useId } from 'preact/hooks';

interface Props {
  readonly value: number;
  readonly max: number;
  readonly label: string;
}

/** Told in steps of ten of a hundred, so that a screen reader is not talked over (WCAG 4.1.3). */
export function Progress({ value, max, label }: Props) {
  const id = useId();
  const part = max > 0 ? Math.min(1, Math.max(0, value / max)) : 0;
  return (
    <div class="progress">
      <span id={id}>{label}</span>
      <progress aria-labelledby={id} value={part} max={1} />
      <span class="number" aria-hidden="true">
        {Math.floor(part * 100)} %
      </span>
      <output class="unseen">{`${label}: ${Math.floor(part * 10) * 10} %`}</output>
    </div>
  );
}
