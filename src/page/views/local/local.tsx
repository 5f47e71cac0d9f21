import { useLive } from '../../services/live.ts';
import { texts } from '../../texts.ts';

export default function LocalView() {
  const { state } = useLive();
  return (
    <>
      <h1 tabIndex={-1}>{texts.sections.local}</h1>
      <p>{state?.height}</p>
    </>
  );
}
