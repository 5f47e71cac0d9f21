/**
 * Memory that is really held, with all garbage collected first: how large a process is depends on when V8 last cleaned
 * up, which on a busy machine is anybody's guess, so no test may ask for that.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { RunningStack } from './stack.ts';

/** What a stack must be started with to be asked for its memory. */
export const inspectable = { NODE_OPTIONS: '--inspect=127.0.0.1:0' };

const held = '(({ heapUsed, arrayBuffers }) => heapUsed + arrayBuffers)(process.memoryUsage())';

/** Bytes that this process holds, on V8's heap and in buffers. */
export function liveMemory(): number {
  // The function is there only in contexts that are made while the flag is set.
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
  setFlagsFromString('--no-expose-gc');
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

/** Bytes that the process of a stack holds, asked of its inspector. */
export async function liveMemoryOf(stack: RunningStack): Promise<number> {
  const address = /^Debugger listening on (ws:\S+)$/m.exec(stack.log())?.[1];
  if (address === undefined) throw new Error('the stack was not started with `inspectable`');
  const socket = new WebSocket(address);
  try {
    await new Promise((resolve, reject) => {
      socket.addEventListener('open', resolve, { once: true });
      socket.addEventListener('error', reject, { once: true });
    });
    let calls = 0;
    const call = (method: string, params: object): Promise<{ result?: { value?: unknown } }> =>
      new Promise((resolve, reject) => {
        const id = ++calls;
        socket.addEventListener('close', () => reject(new Error('the inspector is gone')), { once: true });
        socket.addEventListener('message', ({ data }) => {
          const answer = JSON.parse(String(data));
          if (answer.id !== id) return;
          if (answer.error === undefined) resolve(answer.result);
          else reject(new Error(`${method}: ${answer.error.message}`));
        });
        socket.send(JSON.stringify({ id, method, params }));
      });
    await call('HeapProfiler.collectGarbage', {});
    const { result } = await call('Runtime.evaluate', { expression: held });
    if (typeof result?.value !== 'number') throw new Error('the inspector did not answer a number');
    return result.value;
  } finally {
    socket.close();
  }
}
