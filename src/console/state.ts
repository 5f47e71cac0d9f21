/** What a console remembers, kept outside the surface: a local network that begins anew makes its surfaces anew. */
import { Sessions } from './sessions.ts';
import { ChartStore } from './watch/charts.ts';

export class ConsoleState {
  readonly sessions: Sessions = new Sessions();
  readonly charts: ChartStore = new ChartStore();
}
