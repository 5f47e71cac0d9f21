/**
 * Makes the page's files out of `src/page`: for the package once, in a checkout in memory when the page is first asked for,
 * so that both serve the same.
 */
import { basename, join } from 'node:path';
import type { PageFiles } from './page-html.ts';

/** Programs that the page starts, by the name that `index.html` tells their address under. */
const entries: Readonly<Record<string, string>> = { main: 'main.tsx', items: 'items/worker.ts' };

export async function buildPage(): Promise<PageFiles> {
  const { build, stop } = await import('esbuild');
  const folder = join(import.meta.dirname, '..', 'page');
  try {
    const { outputFiles, metafile } = await build({
      entryPoints: Object.fromEntries(
        Object.entries(entries).map(([name, file]) => [name, join(folder, file)]),
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
      target: ['chrome120', 'firefox121', 'safari17'],
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
      Object.entries(entries).map(([name, file]) => [name, basename(made(file)?.[0] ?? '')]),
    );
    return { files, scripts, style: basename(made('main.tsx')?.[1].cssBundle ?? '') };
  } finally {
    // Its program would stay in memory.
    await stop();
  }
}

const entryPointIs = (entryPoint: string | undefined, file: string): boolean =>
  entryPoint === file || entryPoint?.endsWith(`/${file}`) === true;
