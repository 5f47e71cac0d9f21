/**
 * What tests import as `node:test` while mutants are tried: it keeps tests and hooks, so that one test can be run by
 * itself, again and again, in a process that has loaded everything once.
 */
import { type TestContext, mock as tracker } from 'node:test';

type Body = (context: TestContext) => unknown;
interface Options {
  readonly skip?: boolean | string;
  readonly timeout?: number;
}

export interface Test {
  readonly kind: 'test';
  readonly name: string;
  readonly run: Body;
}

export interface Suite {
  readonly kind: 'suite';
  readonly name: string;
  readonly entries: (Test | Suite)[];
  readonly hooks: Record<'before' | 'after' | 'beforeEach' | 'afterEach', Body[]>;
}

function newSuite(name: string): Suite {
  return {
    kind: 'suite',
    name,
    entries: [],
    hooks: { before: [], after: [], beforeEach: [], afterEach: [] },
  };
}

let current = newSuite('');
let suitesInWork: Promise<unknown>[] = [];

/** The tests of a file, by importing it. */
export async function collect(name: string, load: () => Promise<unknown>): Promise<Suite> {
  const suite = newSuite(name);
  current = suite;
  suitesInWork = [];
  await load();
  await Promise.all(suitesInWork);
  return suite;
}

function argumentsOf(rest: readonly (Options | Body | undefined)[]): { options: Options; body?: Body } {
  const options = rest.find((one): one is Options => typeof one === 'object') ?? {};
  const body = rest.find((one): one is Body => typeof one === 'function');
  return body === undefined ? { options } : { options, body };
}

function addTest(name: string, ...rest: (Options | Body | undefined)[]): Promise<void> {
  const { options, body } = argumentsOf(rest);
  if (body !== undefined && !options.skip) current.entries.push({ kind: 'test', name, run: body });
  return Promise.resolve();
}

function addSuite(name: string, ...rest: (Options | Body | undefined)[]): Promise<void> {
  const { options, body } = argumentsOf(rest);
  if (body === undefined || options.skip) return Promise.resolve();
  const outer = current;
  const suite = newSuite(name);
  outer.entries.push(suite);
  current = suite;
  const made = Reflect.apply(body, undefined, []);
  if (made instanceof Promise) suitesInWork.push(made);
  current = outer;
  return Promise.resolve();
}

const skipped = (): Promise<void> => Promise.resolve();
export const test = Object.assign(addTest, { skip: skipped, todo: skipped });
export const it = test;
export const describe = Object.assign(addSuite, { skip: skipped, todo: skipped });
export const suite = describe;
export const mock = tracker;
export const before = (body: Body): void => void current.hooks.before.push(body);
export const after = (body: Body): void => void current.hooks.after.push(body);
export const beforeEach = (body: Body): void => void current.hooks.beforeEach.push(body);
export const afterEach = (body: Body): void => void current.hooks.afterEach.push(body);
export default test;

export class TestFailed extends Error {
  override readonly name = 'TestFailed';
  readonly test: string;
  constructor(test: string, cause: unknown) {
    super(test, { cause });
    this.test = test;
  }
}

export interface Run {
  /** All, where none are named. Names are those of the suites and the test, one below the other. */
  readonly only?: ReadonlySet<string>;
  readonly began?: (name: string) => void;
  readonly ended?: (name: string, ms: number) => void;
}

/** Runs tests one after the other, with their hooks, up to the first that fails. */
export async function runTests(root: Suite, run: Run = {}): Promise<void> {
  await runSuite(root, '', [], run);
}

async function runSuite(suite: Suite, path: string, outer: readonly Suite[], run: Run): Promise<void> {
  const chosen = suite.entries.filter((entry) => isChosen(entry, path, run));
  if (chosen.length === 0) return;
  const suites = [...outer, suite];
  const context = newContext(suite.name);
  let failure: { error: unknown } | undefined;
  try {
    for (const hook of suite.hooks.before) await named(`${path} before`, () => hook(context.context));
    for (const entry of chosen) {
      const name = `${path}${entry.name}`;
      if (entry.kind === 'suite') await runSuite(entry, `${name} > `, suites, run);
      else await runTest(entry, name, suites, run);
    }
  } catch (error) {
    failure = { error };
  }
  // What a failed suite began is ended all the same: the next mutant runs in this process.
  for (const hook of suite.hooks.after) {
    try {
      await named(`${path} after`, () => hook(context.context));
    } catch (error) {
      failure ??= { error };
    }
  }
  if (failure !== undefined) throw failure.error;
}

async function runTest(test: Test, name: string, suites: readonly Suite[], run: Run): Promise<void> {
  run.began?.(name);
  const from = performance.now();
  const { context, end } = newContext(test.name);
  let failure: { error: unknown } | undefined;
  const attempt = async (body: () => unknown) => {
    try {
      await named(name, body);
    } catch (error) {
      failure ??= { error };
    }
  };
  for (const hook of suites.flatMap(({ hooks }) => hooks.beforeEach)) await attempt(() => hook(context));
  if (failure === undefined) await attempt(() => test.run(context));
  await attempt(end);
  for (const hook of suites.toReversed().flatMap(({ hooks }) => hooks.afterEach))
    await attempt(() => hook(context));
  if (failure !== undefined) throw failure.error;
  run.ended?.(name, performance.now() - from);
}

async function named(name: string, body: () => unknown): Promise<void> {
  try {
    await body();
  } catch (error) {
    throw error instanceof TestFailed ? error : new TestFailed(name, error);
  }
}

function isChosen(entry: Test | Suite, path: string, { only }: Run): boolean {
  if (only === undefined) return true;
  const name = `${path}${entry.name}`;
  if (entry.kind === 'test') return only.has(name);
  for (const one of only) if (one.startsWith(`${name} > `)) return true;
  return false;
}

function newContext(name: string): { context: TestContext; end: () => Promise<void> } {
  const endings: Body[] = [];
  const mocks: typeof tracker = Reflect.construct(tracker.constructor, []);
  const context = {
    name,
    mock: mocks,
    signal: new AbortController().signal,
    after: (body: Body) => void endings.push(body),
    skip: () => undefined,
    todo: () => undefined,
    diagnostic: () => undefined,
    test: async (inner: string, ...rest: (Options | Body | undefined)[]) => {
      const { options, body } = argumentsOf(rest);
      if (body === undefined || options.skip) return;
      const below = newContext(inner);
      try {
        await body(below.context);
      } finally {
        await below.end();
      }
    },
  };
  const end = async () => {
    mocks.reset();
    for (const body of endings) await Reflect.apply(body, undefined, [context]);
  };
  // A stand-in has what the tests of this repository call.
  return { context: Object.assign(Object.create(null), context), end };
}
