/** `/local`: what the network is, and changes of its whole state. */
import type { App } from '../../../kernel/http/server.ts';
import type { LocalControl } from '../control.ts';

export function stateRoutes(app: App, control: LocalControl): void {
  app.get('/local', { schema: { summary: 'The local network: its state, clock and addresses' } }, () =>
    control.info(),
  );
  app.post('/local/reset', { schema: { summary: 'Begin anew, with the same keys' } }, () => control.reset());
}
