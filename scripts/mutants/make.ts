/**
 * The mutants of a source file, and the file with all of them in it: each place asks `__mutant(n)` whether its change is
 * the one that is tried. So modules are loaded once for many mutants, and a run without any says which test reaches which.
 *
 * Types are blanked out first, which moves nothing: a place in what is parsed is the same place in the source.
 */
import { createHash } from 'node:crypto';
import { stripTypeScriptTypes } from 'node:module';
import { type AnyNode, parse } from 'acorn';
import { isSql, sqlChanges } from './sql-text.ts';

export interface Mutant {
  /** Of file, kind, text and which one of the same text: stays while other lines change. */
  readonly id: string;
  readonly file: string;
  readonly line: number;
  readonly kind: string;
  readonly was: string;
  readonly becomes: string;
  /** Runs when the module is loaded, so that it needs a process of its own. */
  readonly isStatic: boolean;
}

interface Change {
  readonly node: AnyNode;
  readonly kind: string;
  readonly becomes: string;
  readonly isStatic: boolean;
}

type FunctionNode = Extract<
  AnyNode,
  { type: 'FunctionDeclaration' | 'FunctionExpression' | 'ArrowFunctionExpression' }
>;

type TextOf = (span: { readonly start: number; readonly end: number }) => string;

interface Place {
  readonly parent: AnyNode | undefined;
  readonly inside: FunctionNode | undefined;
  readonly isStatic: boolean;
}

const boundaries: Readonly<Record<string, string>> = { '<': '<=', '<=': '<', '>': '>=', '>=': '>' };
const opposites: Readonly<Record<string, string>> = { '===': '!==', '!==': '===', '&&': '||', '||': '&&' };
const arithmetic: Readonly<Record<string, string>> = {
  '+': '-',
  '-': '+',
  '*': '/',
  '/': '*',
  '%': '*',
  '+=': '-=',
  '-=': '+=',
};

/** Words for operators and figures: their absence changes no promise. */
const isOnlyTold =
  /^(?:await\s+)?(?:[\w.#?]*\.)?(?:log|logger|metrics?|counters?)\??\.|\.(?:unref|ref|debug|info|warn)\(\)?|\.(?:inc|observe)\(/;

export interface Mutated {
  readonly mutants: readonly Mutant[];
  /** JavaScript with every mutant in it, the first of them numbered `from`. */
  readonly code: string;
}

export function mutate(file: string, source: string, from = 0): Mutated {
  const code = stripTypeScriptTypes(source);
  const program = parse(code, { ecmaVersion: 'latest', sourceType: 'module', locations: true });
  const changes: Change[] = [];
  walk(program, { parent: undefined, inside: undefined, isStatic: true }, (node, place) => {
    for (const { kind, becomes } of changesOf(node, place, code, source))
      if (parses(node, becomes)) changes.push({ node, kind, becomes, isStatic: place.isStatic });
  });
  const seen = new Map<string, number>();
  const mutants = changes.map(({ node, kind, becomes, isStatic }): Mutant => {
    const was = shown(code.slice(node.start, node.end));
    const key = [file, kind, was, becomes].join('\n');
    const nth = seen.get(key) ?? 0;
    seen.set(key, nth + 1);
    const id = createHash('sha256').update(`${key}\n${nth}`).digest('hex').slice(0, 8);
    return { id, file, line: node.loc?.start.line ?? 0, kind, was, becomes: shown(becomes), isStatic };
  });
  return { mutants, code: withAll(program, code, changes, from) };
}

function shown(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}

function changesOf(
  node: AnyNode,
  place: Place,
  code: string,
  source: string,
): { kind: string; becomes: string }[] {
  const text: TextOf = ({ start, end }) => code.slice(start, end);
  switch (node.type) {
    case 'ExpressionStatement':
      return statementChanges(node.expression, text);
    case 'ThrowStatement':
      return isWholeGuard(node, place.parent) ? [] : [{ kind: 'throw removed', becomes: ';' }];
    case 'ReturnStatement':
      return node.argument == null || place.inside === undefined
        ? []
        : returned(node.argument, place.inside, text, source).map((value) => ({
            kind: 'returned value',
            becomes: `return ${value};`,
          }));
    case 'Literal':
      return typeof node.value === 'string' && isSql(node.value) ? sqlOf(text(node)) : [];
    case 'TemplateLiteral':
      return isSql(text(node)) && place.parent?.type !== 'TaggedTemplateExpression' ? sqlOf(text(node)) : [];
    case 'CallExpression':
      return [...extremes(text(node), text(node.callee)), ...expressionChanges(node, place, text)];
    default:
      return expressionChanges(node, place, text);
  }
}

function expressionChanges(node: AnyNode, place: Place, text: TextOf): { kind: string; becomes: string }[] {
  const changes: { kind: string; becomes: string }[] = [];
  const { parent } = place;
  const isCondition =
    (parent?.type === 'IfStatement' || parent?.type === 'WhileStatement') && parent.test === node;
  if (node.type === 'LogicalExpression' || node.type === 'BinaryExpression') {
    const { operator, left, right } = node;
    // What stands between has the parentheses of both sides.
    const between = text({ start: left.end, end: right.start });
    const put = (other: string) =>
      text({ start: node.start, end: left.end }) +
      between.replace(operator, other) +
      text({ start: right.start, end: node.end });
    const boundary = boundaries[operator];
    const opposite = opposites[operator];
    const other = arithmetic[operator];
    if (boundary !== undefined) changes.push({ kind: 'boundary', becomes: put(boundary) });
    if (opposite !== undefined && (node.type === 'LogicalExpression' || !isCondition))
      changes.push({
        kind: node.type === 'LogicalExpression' ? 'and, or' : 'negated',
        becomes: put(opposite),
      });
    if (other !== undefined && !hasText(node)) changes.push({ kind: 'arithmetic', becomes: put(other) });
  }
  if (isCondition) {
    changes.push({ kind: 'condition', becomes: 'false' });
    // A loop that never ends says nothing.
    if (parent.type === 'IfStatement') changes.push({ kind: 'condition', becomes: 'true' });
  }
  if (node.type === 'ConditionalExpression') {
    const { test, consequent, alternate } = node;
    const becomes = `!(${text(test)}) ? (${text(consequent)}) : (${text(alternate)})`;
    changes.push({ kind: 'negated', becomes });
  }
  return changes;
}

function statementChanges(expression: AnyNode, text: TextOf): { kind: string; becomes: string }[] {
  const inner = expression.type === 'AwaitExpression' ? expression.argument : expression;
  if (inner.type === 'AssignmentExpression') {
    const other = arithmetic[inner.operator];
    const removed = { kind: 'statement removed', becomes: ';' };
    if (other === undefined || hasText(inner.right)) return [removed];
    return [removed, { kind: 'arithmetic', becomes: `${text(inner.left)} ${other} ${text(inner.right)};` }];
  }
  if (inner.type !== 'CallExpression' || inner.callee.type === 'Super' || isOnlyTold.test(text(expression)))
    return [];
  // A call that is not waited for needs no test: the linter refuses it (`noFloatingPromises`).
  return [{ kind: 'statement removed', becomes: ';' }];
}

/** `if (…) throw …`: to leave out its condition is the same. */
function isWholeGuard(node: AnyNode, parent: AnyNode | undefined): boolean {
  return parent?.type === 'IfStatement' && parent.consequent === node && parent.alternate == null;
}

function extremes(call: string, callee: string): { kind: string; becomes: string }[] {
  const other = callee === 'Math.max' ? 'Math.min' : callee === 'Math.min' ? 'Math.max' : undefined;
  return other === undefined ? [] : [{ kind: 'arithmetic', becomes: other + call.slice(callee.length) }];
}

function sqlOf(literal: string): { kind: string; becomes: string }[] {
  const inner = literal.slice(1, -1);
  return sqlChanges(inner).map(({ what, start, end, put }) => ({
    kind: what,
    becomes: literal[0] + inner.slice(0, start) + put + inner.slice(end) + literal.at(-1),
  }));
}

/** Constants of the type that a function says it returns. */
function returned(
  value: AnyNode,
  { params, body, generator }: FunctionNode,
  text: TextOf,
  source: string,
): string[] {
  if (generator) return [];
  const between = source.slice(params.at(-1)?.end ?? body.start - 200, body.start);
  const declared = /\)\s*:\s*([^{]+?)\s*(?:=>)?\s*$/.exec(between)?.[1] ?? '';
  const type = /^Promise<([\s\S]*)>$/.exec(declared)?.[1] ?? declared;
  return constantsOf(type).filter((constant) => constant !== text(value));
}

function constantsOf(type: string): string[] {
  if (type === 'boolean') return ['true', 'false'];
  if (/^(?:bigint|Winc|Winston)$/.test(type)) return ['0n'];
  if (type === 'number') return ['0'];
  if (type === 'string') return ["''"];
  if (/\|\s*undefined$/.test(type)) return ['undefined'];
  if (/\[\]$/.test(type)) return ['[]'];
  return [];
}

function hasText(node: AnyNode): boolean {
  if (node.type === 'TemplateLiteral') return true;
  if (node.type === 'Literal') return typeof node.value === 'string';
  return node.type === 'BinaryExpression' && (hasText(node.left) || hasText(node.right));
}

/** Whether a change is a program: `a ?? b || c` is none. What is wrapped in a function may wait and return. */
function parses(node: AnyNode, becomes: string): boolean {
  const text = isStatement(node) ? becomes : `(${becomes});`;
  try {
    parse(`async function* f() { ${text} }`, { ecmaVersion: 'latest', allowSuperOutsideMethod: true });
    return true;
  } catch (error) {
    // Private names are known in their class alone.
    return error instanceof SyntaxError && /Private field/.test(error.message);
  }
}

function isStatement(node: AnyNode): boolean {
  return /Statement$/.test(node.type);
}

function withAll(program: AnyNode, code: string, changes: readonly Change[], from: number): string {
  const numbered = new Map<AnyNode, { number: number; becomes: string }[]>();
  changes.forEach(({ node, becomes }, index) => {
    const list = numbered.get(node) ?? [];
    list.push({ number: from + index, becomes });
    numbered.set(node, list);
  });
  const render = (node: AnyNode): string => {
    let text = '';
    let at = node.start;
    // `{ name }` is one piece of text for its key and its value.
    for (const child of childrenOf(node)) {
      if (child.start < at) continue;
      text += code.slice(at, child.start) + render(child);
      at = child.end;
    }
    text += code.slice(at, node.end);
    const own = numbered.get(node) ?? [];
    return own.reduceRight((rest, { number, becomes }) => {
      return isStatement(node)
        ? `if (__mutant(${number})) { ${becomes} } else { ${rest} }`
        : `(__mutant(${number}) ? (${becomes}) : (${rest}))`;
    }, text);
  };
  return render(program) + code.slice(program.end);
}

function walk(node: AnyNode, place: Place, visit: (node: AnyNode, place: Place) => void): void {
  visit(node, place);
  const isFunction =
    node.type === 'FunctionDeclaration' ||
    node.type === 'FunctionExpression' ||
    node.type === 'ArrowFunctionExpression';
  const inside = isFunction ? node : place.inside;
  // A field of a class is set when an object is made.
  const isRunLater = isFunction || (node.type === 'PropertyDefinition' && !node.static);
  for (const child of childrenOf(node)) {
    // Conditions of types are no code, and names of imports are no values.
    if (/^(?:Import|Export)Specifier$/.test(child.type)) continue;
    walk(child, { parent: node, inside, isStatic: place.isStatic && !isRunLater }, visit);
  }
}

function childrenOf(node: AnyNode): AnyNode[] {
  return Object.values(node)
    .flatMap((value) => (Array.isArray(value) ? value : [value]))
    .filter(isNode)
    .sort((one, other) => one.start - other.start);
}

function isNode(value: unknown): value is AnyNode {
  return (
    typeof value === 'object' &&
    value !== null &&
    'type' in value &&
    typeof value.type === 'string' &&
    'start' in value &&
    'end' in value
  );
}
