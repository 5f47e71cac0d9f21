/** How far the clock of a local network was set forward: a file of its state, so that a snapshot has it too. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { tryParseJson } from '../../formats/json.ts';
import { hasCode, StartupError } from '../../kernel/errors.ts';

/** A hundred years: more than any lease, and far from where dates end. */
export const maxOffsetMs = 100 * 366 * 86_400_000;

const Clock = Compile(
  Type.Object(
    { offsetMs: Type.Integer({ minimum: 0, maximum: maxOffsetMs }) },
    { additionalProperties: false },
  ),
);

const pathIn = (folder: string): string => join(folder, 'localnet', 'clock.json');

export function readOffset(folder: string): number {
  let text: string;
  try {
    text = readFileSync(pathIn(folder), 'utf8');
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return 0;
    throw error;
  }
  const kept = tryParseJson(text);
  if (!Clock.Check(kept)) throw new StartupError(`${pathIn(folder)} says no time: remove it`);
  return kept.offsetMs;
}

export function writeOffset(folder: string, offsetMs: number): void {
  mkdirSync(dirname(pathIn(folder)), { recursive: true });
  writeFileSync(pathIn(folder), JSON.stringify({ offsetMs }), { mode: 0o600 });
}
