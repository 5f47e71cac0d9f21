/**
 * Inputs that are kept. `corpus/<target>.txt` has one per line, in base64: together they take every way that was found.
 * `found/<target>/` has what once broke something, a file each. Longer runs keep what they learn in `.cache/fuzz`.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const kept = join(import.meta.dirname, 'corpus');
const found = join(import.meta.dirname, 'found');
const learned = resolve(import.meta.dirname, '../../.cache/fuzz');

export function keptInputs(target: string): Buffer[] {
  return readLines(join(kept, `${target}.txt`));
}

export function learnedInputs(target: string): Buffer[] {
  return readLines(join(learned, `${target}.txt`));
}

export function foundInputs(target: string): Buffer[] {
  const folder = join(found, target);
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .sort()
    .map((name) => readFileSync(join(folder, name)));
}

/** Targets of which something is kept. */
export function keptTargets(): string[] {
  const lists = readdirSync(kept).map((name) => name.replace(/\.txt$/, ''));
  return [...new Set([...lists, ...readdirSync(found).filter((name) => !name.startsWith('.'))])].sort();
}

export function learn(target: string, inputs: readonly Buffer[]): void {
  mkdirSync(learned, { recursive: true });
  writeLines(join(learned, `${target}.txt`), inputs);
}

/** The smallest inputs that fit into the share that a target has of the repository. */
export function keep(target: string, inputs: readonly Buffer[], mostBytes = 20 * 1024): number {
  mkdirSync(kept, { recursive: true });
  let bytes = 0;
  const smallest = [...inputs]
    .sort((a, b) => a.length - b.length)
    .filter((input) => {
      bytes += Math.ceil(input.length / 3) * 4 + 1;
      return bytes <= mostBytes;
    });
  writeLines(join(kept, `${target}.txt`), smallest);
  return smallest.length;
}

/** Answers the file's path. */
export function keepFound(target: string, input: Buffer): string {
  const folder = join(found, target);
  mkdirSync(folder, { recursive: true });
  const file = join(folder, createHash('sha256').update(input).digest('hex').slice(0, 12));
  writeFileSync(file, input);
  return file;
}

function readLines(file: string): Buffer[] {
  if (!existsSync(file)) return [];
  return readFileSync(file, 'utf8')
    .split('\n')
    .slice(0, -1)
    .map((line) => Buffer.from(line, 'base64'));
}

function writeLines(file: string, inputs: readonly Buffer[]): void {
  writeFileSync(file, inputs.map((input) => `${input.toString('base64')}\n`).join(''));
}
