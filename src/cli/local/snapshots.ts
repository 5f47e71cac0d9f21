/**
 * Copies of the state by name, in DATA_DIR/snapshots. They are nested: going back to one drops those made after it, and
 * it stays, so that every test of a suite can go back to the same one.
 */
import {
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { tryParseJson } from '../../formats/json.ts';
import { machineNow } from '../../kernel/clock.ts';
import { privateFolderMode } from '../../kernel/private-files.ts';
import { ChangeRefused, invalidName, noSuchSnapshot } from './errors.ts';
import type { StateFolder } from './state-folder.ts';

export interface SnapshotInfo {
  readonly name: string;
  /** Of the local chain. */
  readonly height: number;
  /** By the machine's clock. */
  readonly createdAt: string;
}

/** Each is a copy of everything. */
const maxSnapshots = 100;
const namePattern = /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}$/;
/** In the folder of a snapshot, beside the copies. */
const noteName = 'snapshot.json';
/** A copy that is not whole; no snapshot is called so. */
const unfinishedName = '.unfinished';

const Note = Compile(
  Type.Object({
    height: Type.Integer({ minimum: 0 }),
    createdAt: Type.String(),
    /** Later ones have higher numbers. */
    sequence: Type.Integer({ minimum: 1 }),
  }),
);

interface Kept extends SnapshotInfo {
  readonly sequence: number;
}

export class Snapshots {
  readonly #state: StateFolder;
  readonly #path: string;

  constructor(state: StateFolder) {
    this.#state = state;
    this.#path = join(state.path, 'snapshots');
  }

  /** In the order they were made. */
  list(): SnapshotInfo[] {
    return this.#kept().map(infoOf);
  }

  /** What it will be called; refused where there is one of the name, or too many. */
  nameFor(given: string | undefined): string {
    const kept = this.#kept();
    const name = given ?? freeName(new Set(kept.map((one) => one.name)));
    if (!namePattern.test(name)) throw invalidName();
    if (existsSync(join(this.#path, name))) throw new ChangeRefused(`there is a snapshot ${name} already`);
    if (kept.length >= maxSnapshots)
      throw new ChangeRefused(`there are ${maxSnapshots} snapshots: forget one`);
    return name;
  }

  /** Copies the state, of which nothing is open. */
  async make(name: string, height: number): Promise<SnapshotInfo> {
    const unfinished = join(this.#path, unfinishedName);
    rmSync(unfinished, { recursive: true, force: true });
    mkdirSync(unfinished, { recursive: true, mode: privateFolderMode });
    for (const entry of this.#state.lasting())
      await copy(join(this.#state.path, entry), join(unfinished, entry));
    const sequence = (this.#kept().at(-1)?.sequence ?? 0) + 1;
    const note = { height, createdAt: new Date(machineNow()).toISOString(), sequence };
    writeFileSync(join(unfinished, noteName), JSON.stringify(note), { mode: 0o600 });
    renameSync(unfinished, join(this.#path, name));
    return infoOf({ name, ...note });
  }

  /** The newest where no name is given. */
  find(name: string | undefined): SnapshotInfo {
    if (name !== undefined && !namePattern.test(name)) throw invalidName();
    const kept = this.#kept();
    const found = name === undefined ? kept.at(-1) : kept.find((one) => one.name === name);
    if (found === undefined) throw noSuchSnapshot(name);
    return infoOf(found);
  }

  /** Puts the copies where the state was. */
  async fill(name: string, folder: string): Promise<void> {
    const from = join(this.#path, name);
    for (const entry of this.#state.entries(from)) await copy(join(from, entry), join(folder, entry));
  }

  /** Those made after this one are gone with what happened since. */
  dropAfter(name: string): void {
    const kept = this.#kept();
    const at = kept.findIndex((one) => one.name === name);
    for (const later of kept.slice(at + 1)) this.#remove(later.name);
  }

  forget(name: string): void {
    this.#remove(this.find(name).name);
  }

  #remove(name: string): void {
    const unfinished = join(this.#path, unfinishedName);
    rmSync(unfinished, { recursive: true, force: true });
    renameSync(join(this.#path, name), unfinished);
    rmSync(unfinished, { recursive: true, force: true });
  }

  #kept(): Kept[] {
    if (!existsSync(this.#path)) return [];
    const names = readdirSync(this.#path).filter((name) => namePattern.test(name));
    return names
      .flatMap((name): Kept[] => {
        const note = join(this.#path, name, noteName);
        const kept = existsSync(note) ? tryParseJson(readFileSync(note, 'utf8')) : undefined;
        return Note.Check(kept) ? [{ name, ...kept }] : [];
      })
      .sort((a, b) => a.sequence - b.sequence);
  }
}

const infoOf = ({ name, height, createdAt }: SnapshotInfo): SnapshotInfo => ({ name, height, createdAt });

function freeName(taken: ReadonlySet<string>): string {
  for (let number = 1; ; number += 1) {
    const name = `snapshot-${number}`;
    if (!taken.has(name)) return name;
  }
}

/** Where the file system can, a copy shares its blocks with the original until one of them is written. */
const copy = (from: string, to: string): Promise<void> =>
  cp(from, to, { recursive: true, mode: constants.COPYFILE_FICLONE });
