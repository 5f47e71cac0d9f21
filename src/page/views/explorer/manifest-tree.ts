/** A manifest as the tree that its paths make, read with care: anybody may have written it. */
import { isRecord, memberOf, textOf, tryParseJson } from '../../../formats/json.ts';

export interface ManifestFolder {
  readonly name: string;
  readonly folders: readonly ManifestFolder[];
  readonly files: readonly ManifestFile[];
}

export interface ManifestFile {
  readonly name: string;
  /** Of the whole manifest. */
  readonly path: string;
  readonly id: string;
}

export interface ManifestTree {
  readonly root: ManifestFolder;
  readonly count: number;
  /** Paths that are not in the tree: too many of them, or without a true id. */
  readonly leftOut: number;
  readonly version: string | undefined;
  readonly index: string | undefined;
  readonly fallback: string | undefined;
}

/** Of paths that are shown. */
export const maxPaths = 5_000;
const maxDepth = 32;
const maxNameLength = 1_024;
const id = /^[A-Za-z0-9_-]{43}$/;

interface Building {
  readonly folders: Map<string, Building>;
  readonly files: ManifestFile[];
}

const empty = (): Building => ({ folders: new Map(), files: [] });

/** undefined for a text that is no manifest. */
export function readManifest(text: string): ManifestTree | undefined {
  const parsed = tryParseJson(text);
  const paths = memberOf(parsed, 'paths');
  if (!isRecord(paths)) return undefined;
  const root = empty();
  const entries = Object.keys(paths);
  let count = 0;
  for (const path of entries) {
    const target = textOf(paths[path], 'id');
    if (target === undefined || !id.test(target) || path.length > maxNameLength || count >= maxPaths)
      continue;
    const steps = path.split('/').filter((step) => step !== '');
    if (steps.length > maxDepth) continue;
    const name = steps.pop() ?? path;
    folderAt(root, steps).files.push({ name, path, id: target });
    count += 1;
  }
  const fallback = textOf(memberOf(parsed, 'fallback'), 'id');
  return {
    root: finish('', root),
    count,
    leftOut: entries.length - count,
    version: textOf(parsed, 'version', 32),
    index:
      textOf(memberOf(parsed, 'index'), 'path', maxNameLength) ?? textOf(memberOf(parsed, 'index'), 'id', 43),
    fallback: fallback !== undefined && id.test(fallback) ? fallback : undefined,
  };
}

function folderAt(root: Building, steps: readonly string[]): Building {
  let folder = root;
  for (const step of steps) {
    const inside = folder.folders.get(step) ?? empty();
    folder.folders.set(step, inside);
    folder = inside;
  }
  return folder;
}

const compare = (left: { readonly name: string }, right: { readonly name: string }): number =>
  left.name < right.name ? -1 : left.name > right.name ? 1 : 0;

function finish(name: string, { folders, files }: Building): ManifestFolder {
  return {
    name,
    folders: [...folders].map(([inside, folder]) => finish(inside, folder)).sort(compare),
    files: files.sort(compare),
  };
}
