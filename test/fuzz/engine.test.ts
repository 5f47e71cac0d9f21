import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Coverage } from './coverage.ts';
import { type Finding, search } from './engine.ts';
import { instrument } from './instrument.ts';
import type { Target } from './target.ts';

const coverage = new Coverage();
coverage.install(import.meta.dirname);

/** Runs a function whose source is instrumented by hand, as a module of `src` is when it is loaded. */
function targetOf(source: string, seeds: readonly string[]): Target {
  const run = coverage.compile(`(input) => {${source}}`);
  return { name: 'planted', seeds: () => seeds, run: (input) => void run(input) };
}

async function searched(target: Target, mostRuns: number, seed = 1) {
  const findings: Finding[] = [];
  const result = await search(target, coverage, {
    seed,
    corpus: [],
    forMs: 60_000,
    mostRuns,
    mostFindings: 1,
    found: (finding) => findings.push(finding),
  });
  return { findings, result };
}

describe('instrumented source', () => {
  it('does what it did, whatever arms its branches have', () => {
    const source = `(n) => {
      let out = '';
      for (const x of [1, 2, 3]) if (x === n) out += 'same'; else if (x < n) { out += 'less'; }
      switch (n) { case 1: out += 'one'; break; case 2: default: out += 'other'; }
      label: while (true) { do { break label; } while (n !== 2); }
      const f = (a, b = a ?? 7) => (a !== b && !(a === 3) ? { a } : a || b);
      try { if (n > 5) throw new Error('big'); } catch { out += 'caught'; }
      return [out, f(n), f(n, n), n === undefined, typeof n === 'number'];
    }`;
    const plain: (n: number) => unknown = new Function(`return ${source}`)();
    const counted = coverage.compile(source);
    for (const n of [0, 1, 2, 3, 9]) assert.deepEqual(counted(n), plain(n));
  });

  it('keeps its lines, and tells its words', () => {
    const source = "export const f = (x) => {\n  if (x === 'magic')\n    return 42;\n  return 1n;\n};\n";
    const { code, words, counters } = instrument(source, 0);
    assert.equal(code.split('\n').length, source.split('\n').length);
    assert.deepEqual(new Set(words), new Set(['magic', 42, 1n]));
    assert.equal(counters, 3);
  });
});

describe('a search', () => {
  it('comes to a fault behind several branches that no seed takes', async () => {
    const target = targetOf(
      "const text = input.toString('latin1'); if (text[0] === 'F') if (text[1] === 'U') if (text[2] === 'Z') if (text[3] === 'Z') throw new Error('deep');",
      ['a'],
    );
    const { findings } = await searched(target, 200_000);
    assert.equal(findings[0]?.input.toString('latin1'), 'FUZZ');
    assert.match(findings[0]?.what ?? '', /deep/);
  });

  it('finds a length that is believed without a look', async () => {
    const target = targetOf(
      'if (input.length < 2) return; const length = input.readUInt8(0); input.readUInt8(1 + length);',
      ['\u0001ab'],
    );
    const { findings } = await searched(target, 20_000);
    assert.match(findings[0]?.what ?? '', /RangeError/);
  });

  it('puts what the program compares with into the input', async () => {
    const target = targetOf(
      "const [a, b] = input.toString('latin1').split('|'); if (b === [...a].reverse().join('') + '-checked') throw new Error('compared');",
      ['abcdef|123456'],
    );
    const { findings } = await searched(target, 3_000);
    assert.match(findings[0]?.what ?? '', /compared/);
  });

  it('tells what takes too much memory, and a promise that is broken', async () => {
    const memory = targetOf(
      'if (input[0] === 0x41) globalThis.fuzzKept = Buffer.alloc(200 * 1024 * 1024, 1);',
      ['B'],
    );
    assert.match((await searched(memory, 5_000)).findings[0]?.what ?? '', /MiB/);
    Reflect.deleteProperty(globalThis, 'fuzzKept');
    const broken: Target = {
      name: 'broken',
      seeds: () => ['x'],
      run: async (input) => {
        await undefined;
        if (input.length > 3) throw new TypeError('later');
      },
    };
    assert.match((await searched(broken, 2_000)).findings[0]?.what ?? '', /later/);
  });

  it('does the same for the same seed, and keeps few and short inputs', async () => {
    const source =
      "const text = input.toString('latin1'); for (const c of text) if (c === 'a') continue; if (text.includes('abc')) throw new Error('abc');";
    const [one, two] = [
      await searched(targetOf(source, ['xyz']), 50_000, 7),
      await searched(targetOf(source, ['xyz']), 50_000, 7),
    ];
    assert.equal(one.findings[0]?.input.toString(), 'abc');
    assert.equal(one.result.runs, two.result.runs);
    assert.ok(one.result.corpus.length < 40);
  });
});
