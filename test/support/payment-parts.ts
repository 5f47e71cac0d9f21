/** Parts of the payment surface on a server of their own, as the surface itself would mount them. */
import { limitClients } from '../../src/kernel/http/limit-clients.ts';
import type { HttpServer } from '../../src/kernel/http/server.ts';
import type { Logger } from '../../src/kernel/log.ts';
import type { Part } from '../../src/kernel/part.ts';
import { testServer } from '../../src/kernel/testing.ts';
import { paymentCors } from '../../src/payment/answers.ts';
import { type PaymentLimitsConfig, paymentLimits } from '../../src/payment/client-limits.ts';
import { answerFailures } from '../../src/payment/route-failures.ts';

/** Listens on a free port, then starts the parts. */
export async function serveParts(
  parts: readonly Part[],
  log: Logger,
  limits?: PaymentLimitsConfig,
): Promise<HttpServer> {
  const server = testServer({ name: 'payment', log, cors: paymentCors });
  // The client is whoever the header names: tests have one address, and are many clients.
  if (limits !== undefined) limitClients(server.app, 'payment', paymentLimits(limits), 1);
  server.mount(
    async (scope) => {
      answerFailures(scope);
      for (const part of parts) await part.routes?.(scope);
    },
    ['/v1'],
  );
  await server.listen();
  for (const part of parts) await part.start?.();
  return server;
}
