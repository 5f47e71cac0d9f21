/**
 * Puts counters into JavaScript: one where each function begins and in each arm of a branch, also the arm that is not
 * written. Which counters moved, and how often, says which way an input took. Comparisons for equality go through a
 * function, so that what the program wanted to see can be put into the next input.
 *
 * Text is only inserted, never moved to another line: stack traces keep the lines of the source.
 */
import { type Node, parse } from 'acorn';

export interface Instrumented {
  readonly code: string;
  /** How many counters it has, from `first` on. */
  readonly counters: number;
  /** What the source compares with, writes and looks up: words that inputs may want to have. */
  readonly words: readonly (string | number | bigint)[];
}

const longestWord = 64;

export function instrument(source: string, first: number): Instrumented {
  const edits = new Edits(source);
  const words = new Set<string | number | bigint>();
  let next = first;
  const count = () => `fuzzCounters[${next++}]++`;
  const statement = (node: Node) => {
    if (node.type === 'BlockStatement') edits.open(node.start + 1, `${count()};`);
    else edits.wrap(node, `{${count()};`, '}');
  };
  const expression = (node: Node) => edits.wrap(node, `(${count()},`, ')');
  const visit = (node: Node) => {
    for (const child of childrenOf(node)) visit(child);
    const at = <K extends string>(name: K): Node | undefined => nodeOf(Reflect.get(node, name));
    switch (node.type) {
      case 'ArrowFunctionExpression':
      case 'FunctionExpression':
      case 'FunctionDeclaration': {
        const body = at('body');
        if (body?.type === 'BlockStatement') statement(body);
        else if (body !== undefined) expression(body);
        break;
      }
      case 'IfStatement': {
        const [consequent, alternate] = [at('consequent'), at('alternate')];
        if (consequent !== undefined) statement(consequent);
        if (alternate !== undefined) statement(alternate);
        else edits.close(node.end, ` else {${count()};}`);
        break;
      }
      case 'ForStatement':
      case 'ForInStatement':
      case 'ForOfStatement':
      case 'WhileStatement':
      case 'DoWhileStatement':
      case 'CatchClause': {
        const body = at('body');
        if (body !== undefined) statement(body);
        break;
      }
      case 'SwitchCase': {
        const [begin] = childrenOf(node).filter((child) => child !== at('test'));
        if (begin !== undefined) edits.open(begin.start, `${count()};`);
        break;
      }
      case 'ConditionalExpression':
        for (const arm of [at('consequent'), at('alternate')]) if (arm !== undefined) expression(arm);
        break;
      case 'LogicalExpression': {
        const right = at('right');
        if (right !== undefined) expression(right);
        break;
      }
      case 'BinaryExpression': {
        const [left, right, operator] = [at('left'), at('right'), Reflect.get(node, 'operator')];
        if (left === undefined || right === undefined) break;
        if (operator !== '===' && operator !== '!==') break;
        if (isPlain(left) || isPlain(right)) break;
        edits.wrap(node, `${operator === '!==' ? '!' : ''}fuzzCompare(`, ')');
        edits.replace(source.indexOf(operator, left.end), operator.length, ',');
        break;
      }
      case 'Literal': {
        const value: unknown = Reflect.get(node, 'value');
        if (typeof value === 'string' && value.length > 0 && value.length <= longestWord) words.add(value);
        if (typeof value === 'number' || typeof value === 'bigint') words.add(value);
        break;
      }
      case 'Property': {
        const key = at('key');
        const name: unknown = key?.type === 'Identifier' ? Reflect.get(key, 'name') : undefined;
        if (typeof name === 'string' && name.length <= longestWord) words.add(name);
        break;
      }
    }
  };
  visit(parse(source, { ecmaVersion: 'latest', sourceType: 'module' }));
  return { code: edits.text(), counters: next - first, words: [...words] };
}

/** A comparison with one of these says nothing about bytes. */
function isPlain(node: Node): boolean {
  if (node.type === 'UnaryExpression') return Reflect.get(node, 'operator') === 'typeof';
  if (node.type === 'Identifier') return Reflect.get(node, 'name') === 'undefined';
  const value: unknown = node.type === 'Literal' ? Reflect.get(node, 'value') : undefined;
  return value === null || typeof value === 'boolean';
}

function nodeOf(value: unknown): Node | undefined {
  return typeof value === 'object' && value !== null && 'type' in value && 'start' in value && 'end' in value
    ? (value as Node)
    : undefined;
}

function childrenOf(node: Node): Node[] {
  return Object.values(node)
    .flat()
    .flatMap((value: unknown) => nodeOf(value) ?? []);
}

/** Insertions into a text. Made from the inner nodes outwards: what is inserted later at one place stands further out. */
class Edits {
  readonly #source: string;
  readonly #opened = new Map<number, string>();
  readonly #closed = new Map<number, string>();
  readonly #replaced = new Map<number, { length: number; text: string }>();

  constructor(source: string) {
    this.#source = source;
  }

  open(at: number, text: string): void {
    this.#opened.set(at, text + (this.#opened.get(at) ?? ''));
  }

  close(at: number, text: string): void {
    this.#closed.set(at, (this.#closed.get(at) ?? '') + text);
  }

  wrap(node: Node, before: string, after: string): void {
    this.open(node.start, before);
    this.close(node.end, after);
  }

  replace(at: number, length: number, text: string): void {
    this.#replaced.set(at, { length, text });
  }

  text(): string {
    const places = new Set([...this.#opened.keys(), ...this.#closed.keys(), ...this.#replaced.keys()]);
    let out = '';
    let from = 0;
    for (const at of [...places].sort((a, b) => a - b)) {
      out += this.#source.slice(from, at) + (this.#closed.get(at) ?? '') + (this.#opened.get(at) ?? '');
      const replaced = this.#replaced.get(at);
      out += replaced?.text ?? '';
      from = at + (replaced?.length ?? 0);
    }
    return out + this.#source.slice(from);
  }
}
