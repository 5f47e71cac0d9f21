/** Parts of the payment surface on a server of their own, as the surface itself would mount them. */
import { limitClients } from '../../src/kernel/http/limit-clients.ts';
import { createHttpServer, type HttpServer } from '../../src/kernel/http/server.ts';
import type { Logger } from '../../src/kernel/log.ts';
import { Metrics } from '../../src/kernel/metrics.ts';
import type { Part } from '../../src/kernel/part.ts';
import { paymentCors } from '../../src/payment/answers.ts';
import { type PaymentLimitsConfig, paymentLimits } from '../../src/payment/client-limits.ts';
import { answerFailures } from '../../src/payment/route-failures.ts';

/** Listens on a free port, then starts the parts. */
export async function serveParts(
  parts: readonly Part[],
  log: Logger,
  limits?: PaymentLimitsConfig,
): Promise<HttpServer> {
  const server = createHttpServer({
    name: 'payment',
    title: 'Payment',
    host: '127.0.0.1',
    port: 0,
    portVariable: 'PAYMENT_PORT',
    log,
    metrics: new Metrics(),
    cors: paymentCors,
  });
  // The client is whoever the header names: tests have one address, and are many clients.
  if (limits !== undefined) limitClients(server.app, paymentLimits(limits), 1);
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
