/**
 * Makes the files of the pages in `src/page`: for the package once, in a checkout in memory when a page is first asked for,
 * so that both serve the same.
 */
import { basename, join } from 'node:path';

/** The console, and the router's own admin page, which shows the same parts. */
export type PageName = 'console' | 'router-admin';

export interface PageFiles {
  /** By name; each name but those of source maps changes with what is in the file. */
  readonly files: ReadonlyMap<string, Buffer>;
  /** The page's programs: `main`, and those of workers. */
  readonly scripts: Readonly<Record<string, string>>;
  readonly style: string;
}

/** Programs that the page starts, by the name that `index.html` tells their address under. */
const entries: Readonly<Record<string, string>> = { main: 'main.tsx', items: 'items/worker.ts' };

const adminEntries: typeof entries = { main: 'router-admin.tsx' };

let building: Promise<unknown> = Promise.resolve();

/** One at a time: they share the builder's program. */
export function buildPage(name: PageName): Promise<PageFiles> {
  const next = building.then(() => build(name === 'console' ? entries : adminEntries));
  building = next.catch(() => undefined);
  return next;
}

async function build(programs: typeof entries): Promise<PageFiles> {
  const { build: bundle, stop } = await import('esbuild');
  const folder = join(import.meta.dirname, '..', '..', '..', 'page');
  try {
    const { outputFiles, metafile } = await bundle({
      entryPoints: Object.fromEntries(
        Object.entries(programs).map(([name, file]) => [name, join(folder, file)]),
      ),
      outdir: '/',
      absWorkingDir: folder,
      bundle: true,
      splitting: true,
      minify: true,
      write: false,
      metafile: true,
      format: 'esm',
      platform: 'browser',
      // `light-dark()`, which the colours are written in, came with these.
      target: ['chrome123', 'firefox121', 'safari17.5'],
      jsx: 'automatic',
      jsxImportSource: 'preact',
      entryNames: '[name]-[hash]',
      chunkNames: 'part-[hash]',
      legalComments: 'none',
      sourcemap: 'linked',
      sourcesContent: false,
      logLevel: 'silent',
    });
    const files = new Map(outputFiles.map(({ path, contents }) => [basename(path), Buffer.from(contents)]));
    const outputs = Object.entries(metafile.outputs);
    const made = (file: string) => outputs.find(([, { entryPoint }]) => entryPointIs(entryPoint, file));
    const scripts = Object.fromEntries(
      Object.entries(programs).map(([name, file]) => [name, basename(made(file)?.[0] ?? '')]),
    );
    return { files, scripts, style: basename(made(programs.main ?? '')?.[1].cssBundle ?? '') };
  } finally {
    // Its program would stay in memory.
    await stop();
  }
}

const entryPointIs = (entryPoint: string | undefined, file: string): boolean =>
  entryPoint === file || entryPoint?.endsWith(`/${file}`) === true;
