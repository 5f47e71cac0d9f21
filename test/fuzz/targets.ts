/** Every target, and the file of `targets/` that has it. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Target } from './target.ts';

export interface NamedTarget {
  readonly name: string;
  readonly file: string;
  readonly target: Target;
}

/** Has those that need a whole local network. */
export const routesFile = 'routes.ts';

const folder = join(import.meta.dirname, 'targets');

export async function allTargets(): Promise<NamedTarget[]> {
  const out: NamedTarget[] = [];
  for (const file of readdirSync(folder).sort()) {
    const loaded: { readonly targets: readonly Target[] } = await import(
      pathToFileURL(join(folder, file)).href
    );
    for (const target of loaded.targets) out.push({ name: target.name, file, target });
  }
  return out;
}
