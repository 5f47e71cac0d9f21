/** Which of the files that were dropped or chosen are taken, and under which paths. */

export interface FoundFile {
  /** As the browser tells it, with slashes: the folder that was chosen comes first. */
  readonly path: string;
  readonly file: File;
}

export interface Taken {
  readonly files: readonly FoundFile[];
  /** Whether they came in a folder: those are one thing with a manifest. */
  readonly isFolder: boolean;
  /** Left out: hidden files and what systems put into folders. */
  readonly hidden: readonly string[];
  /** Left out because there are too many. */
  readonly tooMany: number;
}

/** One manifest names them all, and the page holds an entry for each. */
export const mostFiles = 5_000;

const systemNames = new Set(['thumbs.db', 'desktop.ini', '__macosx', 'icon\r', '$recycle.bin']);

/** What begins with a dot, and what only the system that wrote it can use. */
const isHidden = (segments: readonly string[]): boolean =>
  segments.some((name) => name.startsWith('.') || systemNames.has(name.toLowerCase()));

/** `taken`: how many there are already. */
export function takeFiles(found: readonly FoundFile[], taken = 0): Taken {
  const files = new Map<string, FoundFile>();
  const hidden: string[] = [];
  const root = commonRoot(found.map(({ path }) => segmentsOf(path)));
  let tooMany = 0;
  for (const { path, file } of found) {
    const segments = segmentsOf(path);
    const own = root === undefined ? segments : segments.slice(1);
    if (isHidden(own)) hidden.push(path);
    else if (taken + files.size >= mostFiles) tooMany += 1;
    else if (own.length > 0) files.set(own.join('/'), { path: own.join('/'), file });
  }
  const sorted = [...files.values()].sort((one, other) => (one.path < other.path ? -1 : 1));
  return { files: sorted, isFolder: found.some(({ path }) => path.includes('/')), hidden, tooMany };
}

/** Nothing that means another place than its own. */
const segmentsOf = (path: string): string[] =>
  path.split('/').filter((name) => name !== '' && name !== '.' && name !== '..');

/** The one folder that everything is in: its name is no part of the paths. */
function commonRoot(paths: readonly (readonly string[])[]): string | undefined {
  const root = paths[0]?.[0];
  return paths.every(([first, ...rest]) => first === root && rest.length > 0) ? root : undefined;
}
