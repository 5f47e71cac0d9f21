/** The files of what was dropped, those of folders too. */
import { type FoundFile, mostFiles } from './engine/take-files.ts';

/** Hidden files are among them; beyond it nobody looks further. */
const mostFound = 4 * mostFiles;
const deepest = 64;

/** What is dropped must be taken while the event is handled: afterwards the browser gives nothing. */
export async function filesOfDrop({ items }: Pick<DataTransfer, 'items'>): Promise<FoundFile[]> {
  const entries: FileSystemEntry[] = [];
  const alone: FoundFile[] = [];
  for (const item of items) {
    if (item.kind !== 'file') continue;
    const entry = item.webkitGetAsEntry();
    // Files that do not come from a disk have no entry.
    const file = entry === null ? item.getAsFile() : null;
    if (entry !== null) entries.push(entry);
    else if (file !== null) alone.push({ path: file.name, file });
  }
  return [...alone, ...(await readEntries(entries))];
}

/** Of `<input type="file">`; one for folders tells where in it each file is. */
export const filesOfInput = (input: HTMLInputElement): FoundFile[] =>
  [...(input.files ?? [])]
    .slice(0, mostFound)
    .map((file) => ({ path: file.webkitRelativePath === '' ? file.name : file.webkitRelativePath, file }));

async function readEntries(entries: readonly FileSystemEntry[]): Promise<FoundFile[]> {
  const found: FoundFile[] = [];
  const walk = async (entry: FileSystemEntry, depth: number): Promise<void> => {
    if (found.length >= mostFound || depth > deepest) return;
    if (entry.isFile) {
      const file = await fileOf(entry as FileSystemFileEntry);
      // What cannot be read, for example a broken link, is left out like what is not there.
      if (file !== undefined) found.push({ path: entry.fullPath.replace(/^\//, ''), file });
    } else if (entry.isDirectory) {
      for (const inner of await entriesOf(entry as FileSystemDirectoryEntry)) await walk(inner, depth + 1);
    }
  };
  for (const entry of entries) await walk(entry, 0);
  return found;
}

const fileOf = (entry: FileSystemFileEntry): Promise<File | undefined> =>
  new Promise((resolve) => entry.file(resolve, () => resolve(undefined)));

/** A reader answers a hundred at a time, and none at the end. */
async function entriesOf(folder: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = folder.createReader();
  const all: FileSystemEntry[] = [];
  while (all.length < mostFound) {
    const some = await new Promise<FileSystemEntry[]>((resolve) =>
      reader.readEntries(resolve, () => resolve([])),
    );
    if (some.length === 0) break;
    all.push(...some);
  }
  return all;
}
