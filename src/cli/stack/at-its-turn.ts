/** A surface that is made when it starts: only then is known where those that started before it listen. */
import type { Surface } from '../../kernel/part.ts';

export interface SurfaceAtItsTurn<S extends Surface> extends Surface {
  /** Undefined until its turn came. */
  readonly made: S | undefined;
}

/** `url` is empty until the surface answers; `started` is called when it does. */
export function atItsTurn<S extends Surface>(
  name: string,
  make: () => S | Promise<S>,
  started?: (surface: S) => Promise<void>,
): SurfaceAtItsTurn<S> {
  let made: S | undefined;
  let url = '';
  return {
    name,
    get made() {
      return made;
    },
    get url() {
      return url;
    },
    async start() {
      made = await make();
      await made.start();
      url = made.url;
      await started?.(made);
    },
    async drain(timeoutMs) {
      return (await made?.drain(timeoutMs)) ?? true;
    },
    async stop() {
      await made?.stop();
    },
  };
}
