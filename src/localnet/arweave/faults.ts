/**
 * Switches that make the node misbehave on purpose, so that what talks to it can be tested. They live in memory: a
 * restart is a healthy node. The local network's own controls are never touched by them.
 */
import { type Static, Type } from 'typebox';
import { wantsOwnOnly } from '../../outside/fork-header.ts';

const number = (minimum: number, maximum: number, description: string) =>
  Type.Optional(Type.Integer({ minimum, maximum, description }));
const flag = (description: string) => Type.Optional(Type.Boolean({ description }));

export const FaultSettings = Type.Object(
  {
    latencyMs: number(0, 600_000, 'Wait before answering'),
    status: number(400, 599, 'Answer this instead of doing anything'),
    hang: flag('Never answer'),
    truncateChunks: flag('GET /chunk gives half of the bytes'),
    wrongChunks: flag('GET /chunk gives other bytes'),
    wrongHeight: number(-1_000_000, 1_000_000, 'Added to the height that /info and /height say'),
    path: Type.Optional(
      Type.String({ maxLength: 200, description: 'Only for paths that begin so, for example /chunk' }),
    ),
    from: Type.Optional(
      Type.Union([Type.Literal('clients'), Type.Literal('services')], {
        description: 'Only for requests of clients, or only for those of the gateway and the other services',
      }),
    ),
    count: number(1, 1_000_000, 'Switch off after so many requests'),
  },
  { additionalProperties: false },
);
export type FaultSettings = Static<typeof FaultSettings>;

interface FaultyRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

export class Faults {
  readonly #hit = new WeakMap<object, FaultSettings>();
  #settings: FaultSettings | undefined;
  #left = 0;

  get settings(): FaultSettings {
    return this.#settings ?? {};
  }

  set(settings: FaultSettings): void {
    this.#settings = settings;
    this.#left = settings.count ?? Number.POSITIVE_INFINITY;
  }

  clear(): void {
    this.#settings = undefined;
  }

  /** What goes wrong with this request; each request that is hit counts. */
  take(request: FaultyRequest): FaultSettings | undefined {
    const settings = this.#settings;
    if (settings === undefined || !request.url.startsWith(settings.path ?? '/')) return undefined;
    // Services say that only their own chain counts for them.
    const from = wantsOwnOnly(request.headers) ? 'services' : 'clients';
    if (settings.from !== undefined && settings.from !== from) return undefined;
    this.#left -= 1;
    if (this.#left <= 0) this.#settings = undefined;
    this.#hit.set(request, settings);
    return settings;
  }

  /** What was taken for the request. */
  of(request: object): FaultSettings | undefined {
    return this.#hit.get(request);
  }
}
