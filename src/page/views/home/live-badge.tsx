/** Whether what is shown is up to date: in the header of every page. */
import { useLive } from '../../services/live.ts';
import { texts } from '../../texts.ts';

export function LiveBadge() {
  const { state, isConnected } = useLive();
  const connection = isConnected ? 'open' : state === undefined ? 'connecting' : 'lost';
  return (
    <span class={`live live-${connection}`} role="status" title={texts.shell.liveHints[connection]}>
      {texts.shell.live[connection]}
    </span>
  );
}
