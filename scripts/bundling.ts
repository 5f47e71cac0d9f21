/** How the program is made into JavaScript: what every bundle of it has in common. */
import { readFileSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import type { BuildOptions, Plugin } from 'esbuild';

export const root = resolve(import.meta.dirname, '..');
export const source = join(root, 'src');

/** Asked for by packages that do without it, and what makes the console's page in a checkout: here it is made already. */
const absentPackages = ['pg-native', 'esbuild'];

export const common = {
  bundle: true,
  platform: 'node',
  external: absentPackages,
  sourcemap: true,
  // A stack trace needs lines and names, not the text.
  sourcesContent: false,
  legalComments: 'none',
  metafile: true,
  logLevel: 'warning',
} satisfies BuildOptions;

/** Packages written in CommonJS load what Node has by `require`. */
export const requireBanner = `import { createRequire as makeRequire } from 'node:module'; const require = makeRequire(import.meta.url);`;

/** A module of ours goes on knowing the place that its source has below src, as a place below dist. */
export const placesOfSources: Plugin = {
  name: 'places of sources',
  setup({ onLoad }) {
    onLoad({ filter: /\.ts$/ }, ({ path }) => {
      const text = readFileSync(path, 'utf8');
      if (!path.startsWith(source + sep) || !text.includes('import.meta'))
        return { contents: text, loader: 'ts' };
      const file = `new URL(${JSON.stringify(`./${compiled(path)}`)}, import.meta.url)`;
      const folder = `new URL(${JSON.stringify(`./${slashes(dirname(compiled(path)))}`)}, import.meta.url)`;
      const placed = text.replaceAll(/\bimport\.meta\.(\w+)/g, (whole, property: string) => {
        if (property === 'url') return `${file}.href`;
        if (property === 'filename') return `pathOfUrl(${file})`;
        if (property === 'dirname') return `pathOfUrl(${folder})`;
        throw new Error(`${path}: ${whole} has no meaning in the packed program`);
      });
      // On the first line, so that lines keep their numbers.
      return { contents: `import { fileURLToPath as pathOfUrl } from 'node:url'; ${placed}`, loader: 'ts' };
    });
  },
};

/** `kernel/pool/thread.js` of `src/kernel/pool/thread.ts`. */
export function compiled(file: string): string {
  return slashes(relative(source, file)).replace(/\.ts$/, '.js');
}

export function slashes(path: string): string {
  return path.split(sep).join('/');
}
