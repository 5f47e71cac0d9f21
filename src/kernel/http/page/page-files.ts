/** Pages as files that a browser asks for: the packed program has them, in a checkout they are made when first asked for. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { PageFiles, PageName } from './page-build.ts';

/** Of a packed page, beside its files. */
export const indexName = 'page.json';
/** Has a folder for each packed page; in a checkout it is their source. */
const pagesFolder = join(import.meta.dirname, '..', '..', '..', 'page');

export async function loadPage(name: PageName): Promise<PageFiles> {
  const folder = join(pagesFolder, name);
  const index = join(folder, indexName);
  if (!existsSync(index)) return await (await import('./page-build.ts')).buildPage(name);
  const { scripts, style }: Pick<PageFiles, 'scripts' | 'style'> = JSON.parse(readFileSync(index, 'utf8'));
  const names = readdirSync(folder).filter((file) => file !== indexName);
  const files = new Map(names.map((file) => [file, readFileSync(join(folder, file))]));
  return { files, scripts, style };
}

const types: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  map: 'application/json',
};

export const typeOf = (name: string): string =>
  types[name.slice(name.lastIndexOf('.') + 1)] ?? 'application/octet-stream';

const brotli = promisify(brotliCompress);
const zip = promisify(gzip);

export type Encoding = 'br' | 'gzip' | 'identity';

/** Each file compressed once for each encoding that is asked for. */
export class EncodedFiles {
  readonly #files: ReadonlyMap<string, Buffer>;
  readonly #encoded = new Map<string, Promise<Buffer>>();

  constructor(files: ReadonlyMap<string, Buffer>) {
    this.#files = files;
  }

  get(name: string, encoding: Encoding): Promise<Buffer> | undefined {
    const bytes = this.#files.get(name);
    if (bytes === undefined) return undefined;
    if (encoding === 'identity') return Promise.resolve(bytes);
    const key = `${encoding} ${name}`;
    let encoded = this.#encoded.get(key);
    if (encoded === undefined) {
      encoded = encode(bytes, encoding);
      this.#encoded.set(key, encoded);
    }
    return encoded;
  }
}

export function encode(bytes: Buffer, encoding: Encoding): Promise<Buffer> {
  if (encoding === 'br') return brotli(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } });
  return encoding === 'gzip' ? zip(bytes) : Promise.resolve(bytes);
}

/** Browsers that take brotli or gzip name them plainly; qualities are for others. */
export function encodingFor(accepted: string | undefined): Encoding {
  if (accepted === undefined) return 'identity';
  const words = accepted.split(',').map((word) => word.trim().split(';')[0]);
  if (words.includes('br')) return 'br';
  return words.includes('gzip') ? 'gzip' : 'identity';
}
