import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** Runs a program of this folder until it has said so many lines, kills it, answers all that it said. */
export async function killedAfter(
  count: number,
  program: string,
  args: readonly string[],
): Promise<string[]> {
  const script = join(import.meta.dirname, program);
  const child = spawn(process.execPath, [script, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  const lines: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line);
    if (lines.length === count) child.kill('SIGKILL');
  }
  if (child.exitCode === null && child.signalCode === null) {
    await new Promise((done) => child.once('exit', done));
  }
  assert.equal(child.signalCode, 'SIGKILL', 'the child ended by itself');
  return lines;
}
