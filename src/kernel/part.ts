/**
 * The one shape of whatever is plugged in: a part into its surface, a surface into the program, a stand-in into the
 * local network. A part returns what it makes; nothing is filled into an object that others share.
 */
import type { JobReport } from '../formats/admin-answers.ts';
import type { Job } from './background/job.ts';
import { jobProblems, type RunReport } from './background/run-record.ts';
import type { App } from './http/app.ts';
import type { HttpServer } from './http/server.ts';

export interface Part {
  /** For people and logs, for example `chain`. */
  readonly name: string;
  /** Adds routes and hooks to the scope that it is mounted in, once, before the server listens. */
  routes?(app: App): void | Promise<void>;
  /** The same for the operator: below the prefix that the surface guards with the admin key. */
  adminRoutes?(app: App): void | Promise<void>;
  /** Work that goes on from when the server listens until the part stops. */
  readonly jobs?: readonly Job[];
  /** Resolves when the part can be used; parts start in order, and must not wait for a chain. */
  start?(): Promise<void>;
  /** No new work; true when all work in flight is done, false when the time was over and it was cut. */
  drain?(timeoutMs: number): Promise<boolean>;
  /** Frees everything. Called in reverse order, after `drain`, also when `start` failed half-way. */
  stop?(): Promise<void>;
  /** Why it is not healthy, as far as it knows. */
  problems?(): readonly string[] | Promise<readonly string[]>;
  /** Why it cannot do its work at all: what every probe is told, strict or not, and `problems` need not repeat. */
  fatal?(): readonly string[];
  /** How background work goes that is not among its jobs. */
  reports?(): readonly RunReport[];
}

/** How the background work of parts goes. */
export function jobReports(parts: readonly Part[]): JobReport[] {
  return parts.flatMap((part) => {
    const reports = [...(part.jobs ?? []).flatMap((job) => job.reports()), ...(part.reports?.() ?? [])];
    return reports.map((report) => ({ part: part.name, ...report }));
  });
}

/** Why parts are not healthy, in sentences: what they say, and jobs that do not get on. */
export async function problemsOf(parts: readonly Part[]): Promise<string[]> {
  const told = await Promise.all(parts.map((part) => part.problems?.() ?? []));
  return [...fatalProblems(parts), ...told.flat(), ...jobProblems(jobReports(parts))];
}

/** Those of them with which nobody should be sent here. */
export const fatalProblems = (parts: readonly Part[]): string[] =>
  parts.flatMap((part) => part.fatal?.() ?? []);

/** A part that listens on an address of its own. */
export interface Surface extends Required<Pick<Part, 'name' | 'start' | 'drain' | 'stop'>> {
  /** The base address, known once started (a port of 0 is resolved by then). */
  readonly url: string;
}

/** What a surface is made of. */
export interface SurfaceParts {
  readonly server: HttpServer;
  /** In the order they start; what later ones need comes first. */
  readonly parts: readonly Part[];
}

/**
 * A surface is made when it starts: its parts start in order, then its server listens, then their jobs begin. It stops
 * the other way round. A taken port fails the start with one line that names its variable.
 */
export function createSurface(name: string, make: () => SurfaceParts | Promise<SurfaceParts>): Surface {
  let made: SurfaceParts | undefined;
  return {
    name,
    get url() {
      return made?.server.url ?? '';
    },
    async start() {
      made = await make();
      for (const part of made.parts) await part.start?.();
      await made.server.listen();
      for (const job of made.parts.flatMap(({ jobs = [] }) => jobs)) job.start();
    },
    async drain(timeoutMs) {
      if (made === undefined) return true;
      const { server, parts } = made;
      const drained = [server.drain(timeoutMs), ...parts.map((part) => part.drain?.(timeoutMs) ?? true)];
      return (await Promise.all(drained)).every((isDone) => isDone);
    },
    async stop() {
      if (made === undefined) return;
      const { server, parts } = made;
      const failures: unknown[] = [];
      const attempt = (end: Promise<void> | undefined) =>
        end?.catch((error: unknown) => failures.push(error));
      await attempt(server.close());
      for (const part of parts.toReversed()) {
        await Promise.all(part.jobs?.map((job) => attempt(job.stop())) ?? []);
        await attempt(part.stop?.());
      }
      if (failures.length > 0) throw new AggregateError(failures, `${name} did not stop cleanly`);
    },
  };
}
