/**
 * Path manifests (`arweave/paths` 0.1.0 and 0.2.0): a JSON document that maps paths to ids, with an index for
 * the empty path and, since 0.2.0, a fallback for paths that are not there.
 *
 * Reading is strict in what it uses (ids are canonical, versions are known) and forgiving in what it does not:
 * a bad entry is as if it were absent, and a version that is not known gives its paths and index path only. What makes
 * a document a manifest is its content type: the member `manifest` is not looked at.
 */
import { isTxId, type TxId } from '../base64url.ts';
import { FormatError } from '../format-error.ts';

export const manifestContentType = 'application/x.arweave-manifest+json';
/** Longer documents are not read. */
export const maxManifestBytes = 64 * 1024 * 1024;

export interface Manifest {
  /** As it is in the document; undefined when it has none. */
  readonly version: string | undefined;
  readonly indexPath: string | undefined;
  /** 0.2.0 */
  readonly indexId: TxId | undefined;
  /** 0.2.0 */
  readonly fallbackId: TxId | undefined;
  /** Paths without trailing slashes. */
  readonly paths: ReadonlyMap<string, TxId>;
}

export interface ManifestHit {
  readonly id: TxId;
  /** How the path was found: answers by fallback must not be cached for long. */
  readonly by: 'index' | 'path' | 'fallback';
}

/**
 * What a path leads to, or undefined. The caller has percent-decoded it once and taken the slash away that divides it from
 * what is before it. There is no directory listing.
 */
export function resolveManifestPath(manifest: Manifest, path: string): ManifestHit | undefined {
  const name = withoutTrailingSlashes(path);
  if (name === '') {
    const id = manifest.indexId ?? pathId(manifest, manifest.indexPath);
    if (id !== undefined) return { id, by: 'index' };
  } else {
    const id = manifest.paths.get(name);
    if (id !== undefined) return { id, by: 'path' };
  }
  return manifest.fallbackId === undefined ? undefined : { id: manifest.fallbackId, by: 'fallback' };
}

/** Trailing slashes carry no meaning, in a request and in a manifest; everything else is compared as it is. */
export function withoutTrailingSlashes(path: string): string {
  let end = path.length;
  while (end > 0 && path.charCodeAt(end - 1) === 0x2f) end--;
  return path.slice(0, end);
}

export interface ManifestSource {
  readonly paths: ReadonlyMap<string, string>;
  /** A key of `paths`. */
  readonly indexPath?: string;
  readonly fallbackId?: string;
}

/** Writes a document of version 0.2.0; throws `FormatError` for malformed ids and an index that is not there. */
export function buildManifest(source: ManifestSource): Buffer {
  return Buffer.from(manifestText(source));
}

/** The same where there is no Node. */
export function manifestText(source: ManifestSource): string {
  for (const id of [
    ...source.paths.values(),
    ...(source.fallbackId === undefined ? [] : [source.fallbackId]),
  ]) {
    if (!isTxId(id)) throw new FormatError(`${id} is no id`);
  }
  if (source.indexPath !== undefined && !source.paths.has(source.indexPath)) {
    throw new FormatError(`the index ${source.indexPath} is not among the paths`);
  }
  const paths: [string, { id: string }][] = [...source.paths].map(([path, id]) => [path, { id }]);
  return JSON.stringify({
    manifest: 'arweave/paths',
    version: '0.2.0',
    ...(source.indexPath === undefined ? {} : { index: { path: source.indexPath } }),
    ...(source.fallbackId === undefined ? {} : { fallback: { id: source.fallbackId } }),
    paths: Object.fromEntries(paths),
  });
}

function pathId(manifest: Manifest, path: string | undefined): TxId | undefined {
  return path === undefined ? undefined : manifest.paths.get(path);
}
