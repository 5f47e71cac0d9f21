import { PageTitle } from '../../kit/page-title.tsx';
import { Skeleton } from '../../kit/state.tsx';
import { useLive } from '../../services/live.ts';
import { settings } from '../../services/settings.ts';
import { texts } from '../../texts.ts';
import { wallet } from '../../wallet/wallet.ts';
import { LiveFigures } from './figures.tsx';
import { FirstSteps } from './first-steps.tsx';
import { Road } from './road.tsx';
import { roadParts } from './road-parts.ts';

export default function HomeView() {
  const { state, isConnected } = useLive();
  const { world } = settings();
  const parts = roadParts({
    settings: settings(),
    live: isConnected ? state : undefined,
    wallet: wallet.value?.label,
  });
  return (
    <>
      <PageTitle title={texts.home.title[world]} note={texts.home.greeting[world]} />
      <FirstSteps />
      <Road parts={parts} isLive={isConnected} />
      <section class="home-figures" aria-label={texts.home.figures.title}>
        {state === undefined ? <Skeleton lines={3} /> : <LiveFigures live={state} />}
      </section>
    </>
  );
}
