/** How the parts of the local network say that they are local, so that nobody takes their money for real. */
import type { App } from '../kernel/http/server.ts';

export const localSign = {
  /** `network` in the node's `/info`: clients that fund wallets and mine by themselves look for the first word. */
  arweaveNetwork: 'arlocal.turnpike.local',
  /** `solana-core` in the ledger's `getVersion`. */
  solanaVersion: 'turnpike-local-ledger',
  /** In every answer of the card provider and the facilitator, whose protocols have no field for it. */
  header: 'x-local-network',
} as const;

/** Every answer says what this is. */
export function sayLocal(app: App, what: string): void {
  app.addHook('onRequest', async (_request, reply) => {
    reply.header(localSign.header, what);
  });
}
