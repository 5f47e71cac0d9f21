/**
 * Keeps `process.nextTick` fast in a large program; import it first.
 *
 * Node makes an object literal with computed keys for every tick, about seven per HTTP request. V8 remembers the
 * shape of that literal weakly: the first full garbage collection that finds no tick waiting forgets it, and from
 * then on every tick takes the slow path through the runtime (`Runtime_DefineKeyedOwnPropertyInLiteral` in a
 * profile). A tiny server never collects in time to notice; ours lost a quarter of its request rate. One tick that
 * is never freed keeps the shape alive. It changes nothing else: the hook is off again before the next line runs.
 */
import { createHook } from 'node:async_hooks';

const kept: object[] = [];
const hook = createHook({
  init(_id, type, _trigger, resource) {
    if (type === 'TickObject') kept.push(resource);
  },
}).enable();
process.nextTick(() => {});
hook.disable();

/** For the test: the tick that is kept. */
export function keptTicks(): readonly object[] {
  return kept;
}
