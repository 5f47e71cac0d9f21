/**
 * The processes that do the work of one start together (`turnpike start --workers`). What one of them must let the
 * others know it tells; what only one can count is asked of the first process. A process that is alone has no fellows,
 * and nothing of this is in its way.
 */

export interface Fellows {
  /** From 0. */
  readonly index: number;
  readonly count: number;
  /** Resolves when each of the others has heard it, or had the time to. */
  tell(topic: string, message: unknown): Promise<void>;
  /** Asks the first process, which answers within a moment unless more time is given. */
  ask(topic: string, message: unknown, timeoutMs?: number): Promise<unknown>;
  /** Asks every worker, this one too; those that do not answer in time are left out. */
  askAll(topic: string, message: unknown): Promise<unknown[]>;
}

/** What it answers goes to the one who asked. */
export type Hearer = (message: unknown) => unknown;

const hearers = new Map<string, Hearer>();
let own: Fellows | undefined;

/** Undefined in a process that is alone. Known before any surface is made. */
export const fellows = (): Fellows | undefined => own;

/** This process is one of several from here on. */
export function joinFellows(joined: Fellows): void {
  own = joined;
}

/** From here on this process hears of the topic; answers how it no longer does. */
export function hear(topic: string, hearer: Hearer): () => void {
  hearers.set(topic, hearer);
  return () => {
    if (hearers.get(topic) === hearer) hearers.delete(topic);
  };
}

/** Whoever does not hear of a topic has nothing to say about it. */
export const heard = (topic: string, message: unknown): unknown => hearers.get(topic)?.(message);
