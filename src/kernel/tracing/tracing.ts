/**
 * Traces for OpenTelemetry, off unless an operator names a collector. While off, the SDK is not loaded, there is no
 * context to carry, no span and no hook: `traced` only calls its work, and servers are built without any of this.
 */
import type { Attributes, Span } from '@opentelemetry/api';
import type { Tracer, TracerOptions } from './tracer.ts';

let active: Tracer | undefined;

/** Undefined while traces are off. A server asks once, when it is made. */
export const activeTracer = (): Tracer | undefined => active;

/** Traces everything in this process from here on. `stop` ends that and sends what is left. */
export async function startTracing(options: TracerOptions): Promise<{ stop(): Promise<void> }> {
  const { Tracer } = await import('./tracer.ts');
  const { traceOutgoing } = await import('./outgoing.ts');
  const tracer = new Tracer(options);
  const untrace = traceOutgoing(tracer);
  active = tracer;
  return {
    async stop() {
      if (active === tracer) active = undefined;
      untrace();
      await tracer.stop();
    },
  };
}

/** Runs work as a span inside the current one. Where work returns a promise, the span ends with it. */
export function traced<T>(
  name: string,
  attributes: () => Attributes,
  work: (span: Span | undefined) => T,
): T {
  return active === undefined ? work(undefined) : active.run(name, attributes(), work);
}
