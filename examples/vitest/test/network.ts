import { startTurnpike, type TurnpikeJson } from '@turnpike-network/turnpike/testing';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    turnpike: TurnpikeJson;
  }
}

/** One network for all test files; only JSON crosses to them, from which each has the whole network again. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const turnpike = await startTurnpike();
  project.provide('turnpike', turnpike.toJSON());
  return () => turnpike.stop();
}
