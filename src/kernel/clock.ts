/**
 * The clock of this thread, which a local network may set forward. `Date` is what everything here and every library asks
 * for the time, so `Date` itself is replaced: then nothing of the network is left behind in another time.
 */

const MachineDate = Date;
let offset = 0;

/** Unix milliseconds as the machine counts them, however far the clock was set forward. */
export const machineNow = (): number => MachineDate.now();

/** How many milliseconds the clock of this thread runs ahead of the machine's. */
export const travelled = (): number => offset;

const now = (): number => MachineDate.now() + offset;

/** Sets the clock so many milliseconds ahead of the machine's; 0 gives the machine's back. */
export function travel(offsetMs: number): void {
  offset = offsetMs;
  const date = offsetMs === 0 ? MachineDate : TravelledDate;
  globalThis.Date = date;
  MachineDate.prototype.constructor = date;
}

/** `Date` in everything but what time it is. Every instance has the prototype of the machine's. */
const TravelledDate = new Proxy(MachineDate, {
  construct: (target, given, newTarget) =>
    Reflect.construct(target, given.length === 0 ? [now()] : given, newTarget),
  apply: () => new MachineDate(now()).toString(),
  get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
});
