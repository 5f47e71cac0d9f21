/** What a measurement asks a PostgreSQL of its own, and the CPU time of its processes. */
import { readFileSync } from 'node:fs';
import pg from 'pg';

export async function ask<T>(url: string, text: string): Promise<T[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(text)).rows as T[];
  } finally {
    await client.end();
  }
}

/** The process that all others of the server are children of. */
export async function postmasterOf(url: string): Promise<number> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    return statOf(rows[0]?.pid ?? 0).parent;
  } finally {
    await client.end();
  }
}

/** CPU seconds of a process and its children so far, those that ended included. */
export function cpuSecondsOf(parent: number): number {
  const children = readFileSync(`/proc/${parent}/task/${parent}/children`, 'utf8').trim().split(' ');
  const running = children.filter((pid) => pid !== '').map((pid) => statOf(Number(pid)).seconds);
  const own = statOf(parent);
  return running.reduce((sum, seconds) => sum + seconds, own.seconds + own.ended);
}

/** Of the process alone. */
export const ownCpuSecondsOf = (pid: number): number => statOf(pid).seconds;

/** proc_pid_stat(5); the clock ticks a hundred times a second on every Linux. */
function statOf(pid: number): { parent: number; seconds: number; ended: number } {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')
      .map(Number);
    const [, parent = 0] = fields;
    const seconds = (at: number) => ((fields[at] ?? 0) + (fields[at + 1] ?? 0)) / 100;
    return { parent, seconds: seconds(11), ended: seconds(13) };
  } catch {
    // It ended meanwhile; its parent has its time.
    return { parent: 0, seconds: 0, ended: 0 };
  }
}
