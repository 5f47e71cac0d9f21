/** The state of a bundle or an item, as a badge. */

import type { BundleReport } from '../../../../formats/admin-answers.ts';
import type { Tone } from '../../../kit/tone.ts';
import { Badge } from '../../../kit/value.tsx';
import { texts } from '../../../texts.ts';

const words = texts.operator.bundler;

export const stateTones: Readonly<Record<string, Tone>> = {
  permanent: 'good',
  dropped: 'bad',
  failed: 'bad',
};

export function BundleBadge({ bundle: { state, stuck, watch } }: { readonly bundle: BundleReport }) {
  return (
    <>
      <Badge tone={stateTones[state] ?? 'info'}>{words.bundleStates[state]}</Badge>{' '}
      {stuck && <Badge tone="bad">{words.bundleStates.stuck}</Badge>}
      {watch?.damage != null && <Badge tone="bad">{words.bundleStates.damaged}</Badge>}
    </>
  );
}
