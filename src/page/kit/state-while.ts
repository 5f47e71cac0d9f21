import { type Dispatch, type StateUpdater, useLayoutEffect, useState } from 'preact/hooks';

/**
 * State that begins anew when something else has changed, in the turn of that change: what is written right after it is
 * not lost.
 */
export function useStateWhile<S>(initial: S, unchanged: readonly unknown[]): [S, Dispatch<StateUpdater<S>>] {
  const [state, setState] = useState(initial);
  useLayoutEffect(() => setState(() => initial), [...unchanged]);
  return [state, setState];
}
