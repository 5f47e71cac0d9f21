/** The state of everything as the console's server tells it, while anything on the page shows it. */
import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { LiveState } from '../../console/api.ts';
import { whenMoving, whenStill } from '../kit/moving.ts';
import { streamConsole } from './console.ts';

const state = signal<LiveState | undefined>(undefined);
const connected = signal(false);

export interface Live {
  /** The newest; undefined until the first one has come. */
  readonly state: LiveState | undefined;
  /** False while the console's server does not answer. */
  readonly isConnected: boolean;
}

const retryMs = 1_000;
let followers = 0;
let ending: AbortController | undefined;

/** Follows the state until the function that it returns is called. All who follow share one stream. */
function followLive(): () => void {
  followers += 1;
  if (ending === undefined) {
    ending = new AbortController();
    void follow(ending.signal);
  }
  return () => {
    followers -= 1;
    if (followers > 0) return;
    ending?.abort();
    ending = undefined;
  };
}

/** For a view; the stream is open while one is. */
export function useLive(): Live {
  useEffect(followLive, []);
  return { state: state.value, isConnected: connected.value };
}

/** Opens the stream again whenever it ends: a local network that begins anew ends it. */
async function follow(signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await whenMoving(signal);
    const still = new AbortController();
    const ended = AbortSignal.any([signal, still.signal]);
    // A browser opens few connections to one server: pages that nobody looks at must not hold them.
    whenStill(ended).then(() => still.abort());
    try {
      await streamConsole(
        '/api/live',
        ({ event, data }) => {
          if (event !== 'state') return;
          state.value = data as LiveState;
          connected.value = true;
        },
        ended,
      );
    } catch {
      // Tried again below.
    }
    if (still.signal.aborted) continue;
    still.abort();
    connected.value = false;
    if (!signal.aborted) await new Promise((resolve) => setTimeout(resolve, retryMs));
  }
}
