/**
 * What `npm pack` ships in dist: the program and the packages it uses as a few JavaScript files, because to find a
 * thousand small modules takes longer than to run them, and Node does not strip types inside node_modules. Beside them
 * the files that are read at run time, the types of what apps import, and the licences of what is carried along.
 *
 *   main.js                what bin/turnpike.js runs
 *   testing.js, arlocal.js what apps import, each also as .cjs, for any Node that the package names
 *   <room>/…               programs of threads and files that are read, where they are below src
 *   types/                 of what apps import
 *
 * With a folder as argument: the program and testing.js and arlocal.js alone, there. Tests start it, because it loads in
 * half the time.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { build, type Metafile, type Plugin } from 'esbuild';
import { buildPage, type PageName } from '../src/kernel/http/page/page-build.ts';
import { indexName } from '../src/kernel/http/page/page-files.ts';
import { common, compiled, placesOfSources, requireBanner, root, slashes, source } from './bundling.ts';

const [programFolder] = process.argv.slice(2);
const out = resolve(root, programFolder ?? 'dist');
const main = join(source, 'cli', 'main.ts');
/** Of pages: made by their own builder. */
const page = join(source, 'page');
/** What apps import. */
const imported = ['testing', 'arlocal'].map((name) => join(source, 'kit', `${name}.ts`));

/**
 * Parts that a package loads with its first line and the program never uses: a tenth of the memory and of the time of a
 * start. What touches one of them anyway fails with a word about it.
 */
const leftOut: readonly { readonly importer: RegExp; readonly imported: RegExp }[] = [
  {
    importer: /node_modules\/undici\/index\.js$/,
    imported: /^\.\/lib\/(?:web|mock|cache|interceptor)\/|\/(?:socks5|env-http)-proxy-agent$/,
  },
  // For documents in YAML; those here are JSON.
  { importer: /node_modules\/@fastify\/swagger\//, imported: /^yaml$/ },
];

/** Every output lies in dist itself, so that each knows from its own place where the others are. */
async function buildProgram(): Promise<Metafile> {
  const threads = threadPrograms();
  const entries = threads.map((file) => [flatName(file), file]);
  const { metafile } = await build({
    ...common,
    entryPoints: { main, ...Object.fromEntries(entries) },
    outdir: out,
    format: 'esm',
    splitting: true,
    chunkNames: 'part-[hash]',
    target: 'node24',
    banner: { js: requireBanner },
    plugins: [leavesOut, placesOfSources],
  });
  for (const file of threads) {
    const place = join(out, compiled(file));
    mkdirSync(dirname(place), { recursive: true });
    writeFileSync(place, `export * from '${slashes(relative(dirname(place), out))}/${flatName(file)}.js';\n`);
  }
  return metafile;
}

/** One file with all that it imports, which is little: the program is started, not imported. */
async function buildImported(entry: string, format: 'esm' | 'cjs'): Promise<Metafile> {
  const { metafile } = await build({
    ...common,
    entryPoints: [entry],
    outfile: join(out, `${basename(entry, '.ts')}.${format === 'esm' ? 'js' : 'cjs'}`),
    format,
    target: 'node20',
    ...(format === 'esm'
      ? { banner: { js: requireBanner } }
      : {
          banner: { js: `const hereUrl = require('node:url').pathToFileURL(__filename).href;` },
          define: { 'import.meta.url': 'hereUrl' },
        }),
    plugins: [placesOfSources],
  });
  return metafile;
}

const leavesOut: Plugin = {
  name: 'leaves out',
  setup({ onResolve, onLoad }) {
    const namespace = 'left-out';
    // Of the rules' own words, so that the bundler asks of few of all the paths.
    const filter = new RegExp(leftOut.map(({ imported }) => imported.source).join('|'));
    onResolve({ filter }, ({ path, importer }) => {
      const place = slashes(importer);
      const isLeftOut = leftOut.some((rule) => rule.importer.test(place) && rule.imported.test(path));
      return isLeftOut ? { path, namespace } : undefined;
    });
    onLoad({ filter: /./, namespace }, ({ path }) => ({
      contents: `
        const refuse = () => { throw new Error(${JSON.stringify(`${path} is not in the packed program`)}); };
        module.exports = new Proxy(function () {}, { get: () => module.exports, apply: refuse });
      `,
      loader: 'js',
    }));
  },
};

/** `new URL(`./thread${extname(import.meta.filename)}`, import.meta.url)` names one. */
function threadPrograms(): string[] {
  const named = /new URL\(`(\.[^`$]+)\$\{extname\(import\.meta\.filename\)\}`/g;
  const found = globSync('**/*.ts', { cwd: source, exclude: isTestModule }).flatMap((file) => {
    const text = readFileSync(join(source, file), 'utf8');
    return [...text.matchAll(named)].map(([, name = '']) => resolve(source, dirname(file), `${name}.ts`));
  });
  return [...new Set(found)];
}

/** Pages, scripts for browsers and the like. */
function copyReadFiles(): void {
  for (const file of globSync('**/*', { cwd: source, withFileTypes: true })) {
    if (!file.isFile() || /\.(tsx?|md)$/.test(file.name)) continue;
    const from = join(file.parentPath, file.name);
    if (from.startsWith(page + sep)) continue;
    const to = join(out, relative(source, from));
    mkdirSync(dirname(to), { recursive: true });
    cpSync(from, to);
  }
}

async function writePage(name: PageName): Promise<void> {
  const { files, ...index } = await buildPage(name);
  const folder = join(out, 'page', name);
  mkdirSync(folder, { recursive: true });
  for (const [file, bytes] of files) writeFileSync(join(folder, file), bytes);
  writeFileSync(join(folder, indexName), JSON.stringify(index));
}

/** The declarations of the entry points and of what they mention, each for both kinds of modules. */
function writeTypes(entries: readonly string[]): void {
  const emitted = join(root, 'node_modules', '.cache', 'types');
  rmSync(emitted, { recursive: true, force: true });
  // It writes what the program loads too, and fails where something of that cannot be told; only what is mentioned counts.
  const tsc = spawnSync(
    process.execPath,
    [
      join(root, 'node_modules', 'typescript', 'bin', 'tsc'),
      '-p',
      'tsconfig.build.json',
      '--outDir',
      emitted,
    ],
    { cwd: root, encoding: 'utf8' },
  );
  const done = new Set<string>();
  const visit = (file: string): void => {
    if (done.has(file)) return;
    done.add(file);
    if (!existsSync(join(emitted, file))) throw new Error(`${file} was not written:\n${tsc.stdout}`);
    const text = readFileSync(join(emitted, file), 'utf8');
    const importing = /((?:from|import\()\s*['"])(\.[^'"]+)\.[tj]s(['"])/g;
    for (const [, , path = ''] of text.matchAll(importing)) visit(join(dirname(file), `${path}.d.ts`));
    const to = join(out, 'types', file);
    mkdirSync(dirname(to), { recursive: true });
    writeFileSync(to, text.replaceAll(importing, '$1$2.js$3'));
    writeFileSync(to.replace(/\.ts$/, '.cts'), text.replaceAll(importing, '$1$2.cjs$3'));
  };
  for (const entry of entries) visit(compiled(entry).replace(/\.js$/, '.d.ts'));
}

/** The licence of every package of which something is in the files. */
function licences(metafiles: readonly Metafile[]): string {
  const inputs = metafiles.flatMap(({ inputs }) => Object.keys(inputs));
  const packages = inputs.flatMap((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? []);
  const texts = [...new Set(packages)].sort().map((folder) => {
    const { name, version, license }: Record<string, unknown> = JSON.parse(
      readFileSync(join(root, folder, 'package.json'), 'utf8'),
    );
    const [file] = globSync('{LICEN[CS]E,licen[cs]e,COPYING}*', { cwd: join(root, folder) }).sort();
    const text = file === undefined ? '' : `\n\n${readFileSync(join(root, folder, file), 'utf8').trim()}`;
    return `${name} ${version}: ${typeof license === 'string' ? license : 'see below'}${text}`;
  });
  return `Turnpike's files carry parts of these packages.\n\n${texts.join(`\n\n${'-'.repeat(80)}\n\n`)}\n`;
}

function isTestModule(path: string): boolean {
  return /\.test\.ts$|(^|\/)testing(\.ts|\/|-)/.test(path);
}

/** `kernel-pool-thread` of `src/kernel/pool/thread.ts`. */
function flatName(file: string): string {
  return compiled(file).replace(/\.js$/, '').replaceAll('/', '-');
}

rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
copyReadFiles();
const metafiles = [await buildProgram()];
await writePage('console');
await writePage('router-admin');
for (const entry of imported) metafiles.push(await buildImported(entry, 'esm'));
if (programFolder === undefined) {
  for (const entry of imported) metafiles.push(await buildImported(entry, 'cjs'));
  writeTypes(imported);
  writeFileSync(join(out, 'third-party-licenses.txt'), licences(metafiles));
}
