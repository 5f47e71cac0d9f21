/** Whether what is shown is up to date, and the switch that pauses it: in the header of every page. */
import { isPaused } from '../../kit/moving.ts';
import { useLive } from '../../services/live.ts';
import { texts } from '../../texts.ts';

export function LiveBadge() {
  const { state, isConnected } = useLive();
  const connection = isConnected ? 'open' : state === undefined ? 'connecting' : 'lost';
  const shown = isPaused.value ? 'paused' : connection;
  return (
    <output>
      <button
        type="button"
        class={`live live-${shown}`}
        title={texts.shell.liveHints[shown]}
        onClick={() => {
          isPaused.value = !isPaused.value;
        }}
      >
        {texts.shell.live[shown]}
      </button>
    </output>
  );
}
