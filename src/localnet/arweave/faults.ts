/**
 * Switches that make the node misbehave on purpose, so that what talks to it can be tested. They live in memory: a
 * restart is a healthy node. The local network's own controls are never touched by them.
 */
import { type Static, Type } from 'typebox';

export const FaultSettings = Type.Object(
  {
    latencyMs: Type.Optional(
      Type.Integer({ minimum: 0, maximum: 600_000, description: 'Wait before answering' }),
    ),
    status: Type.Optional(
      Type.Integer({ minimum: 400, maximum: 599, description: 'Answer this instead of doing anything' }),
    ),
    hang: Type.Optional(Type.Boolean({ description: 'Never answer' })),
    truncateChunks: Type.Optional(Type.Boolean({ description: 'GET /chunk gives half of the bytes' })),
    wrongChunks: Type.Optional(Type.Boolean({ description: 'GET /chunk gives other bytes' })),
    wrongHeight: Type.Optional(
      Type.Integer({
        minimum: -1_000_000,
        maximum: 1_000_000,
        description: 'Added to the height that /info and /height say',
      }),
    ),
    path: Type.Optional(
      Type.String({ maxLength: 200, description: 'Only for paths that begin so, for example /chunk' }),
    ),
    count: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 1_000_000, description: 'Switch off after so many requests' }),
    ),
  },
  { additionalProperties: false },
);
export type FaultSettings = Static<typeof FaultSettings>;

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

  /** What goes wrong with this request for `path`; each request that is hit counts. */
  take(request: object, path: string): FaultSettings | undefined {
    const settings = this.#settings;
    if (settings === undefined || !path.startsWith(settings.path ?? '/')) return undefined;
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
