/** What a record opens, and for how long gateways may remember it: of the name itself and of its undernames. */
import { NumberField, TextField } from '../../kit/form.tsx';
import { texts } from '../../texts.ts';

const words = texts.names.name;

interface Props {
  readonly target: string;
  readonly setTarget: (text: string) => void;
  readonly isTargetWrong: boolean;
  readonly ttl: string;
  readonly setTtl: (text: string) => void;
  readonly isTtlWrong: boolean;
}

export function RecordFields({ target, setTarget, isTargetWrong, ttl, setTtl, isTtlWrong }: Props) {
  return (
    <>
      <TextField
        label={words.targetLabel}
        value={target}
        onInput={(text) => setTarget(text.trim())}
        mono
        hint={words.targetHint}
        error={isTargetWrong ? texts.names.search.notAnId : undefined}
      />
      <NumberField
        label={words.ttlLabel}
        value={ttl}
        onInput={setTtl}
        hint={words.ttlHint}
        error={isTtlWrong ? words.ttlWrong : undefined}
      />
    </>
  );
}
