/**
 * Mutants of SQL text: a condition that always holds, a boundary moved by one, an order turned round. Parameters keep
 * their places, so that a statement still takes what it is given.
 */

interface Token {
  readonly text: string;
  readonly start: number;
  readonly end: number;
  readonly depth: number;
}

export interface TextChange {
  readonly what: 'sql condition' | 'sql boundary' | 'sql order';
  readonly start: number;
  readonly end: number;
  readonly put: string;
}

const boundaries: Readonly<Record<string, string>> = { '<': '<=', '<=': '<', '>': '>=', '>=': '>' };
const endsCondition =
  /^(?:AND|OR|WHERE|ORDER|GROUP|LIMIT|RETURNING|UNION|EXCEPT|HAVING|FOR|ON|DO|SET|THEN|ELSE|END|WHEN|JOIN|LEFT|INNER|OFFSET|;)$/i;

export function isSql(text: string): boolean {
  return /\b(?:SELECT\b[\s\S]+\bFROM|UPDATE\b[\s\S]+\bSET|DELETE\s+FROM|INSERT\s+(?:OR\s+\w+\s+)?INTO|WHERE|ORDER\s+BY)\b/.test(
    text,
  );
}

/** `text` as it stands between the quotes of the source; what a template puts in counts as one word. */
export function sqlChanges(text: string): TextChange[] {
  const tokens = tokensOf(text);
  return [...conditions(text, tokens), ...boundariesOf(tokens), ...orders(tokens)];
}

function conditions(text: string, tokens: readonly Token[]): TextChange[] {
  const changes: TextChange[] = [];
  /** Depths of parentheses at which a WHERE or ON stands. */
  const open = new Set<number>();
  tokens.forEach((token, at) => {
    if (/^(?:SELECT|SET|VALUES)$/i.test(token.text)) open.delete(token.depth);
    const begins = /^(?:WHERE|ON)$/i.test(token.text) && !/^CONFLICT$/i.test(tokens[at + 1]?.text ?? '');
    if (begins) open.add(token.depth);
    if (!begins && !(/^AND$/i.test(token.text) && open.has(token.depth))) return;
    const condition: Token[] = [];
    for (const next of tokens.slice(at + 1)) {
      if (next.depth < token.depth || (next.depth === token.depth && endsCondition.test(next.text))) break;
      condition.push(next);
    }
    const first = condition[0];
    const last = condition.at(-1);
    if (first === undefined || last === undefined) return;
    // `BETWEEN a AND b` is one condition; a single word is a condition only as a column of truth values.
    if (condition.some(({ text: word }) => /^BETWEEN$/i.test(word)) || isAfterBetween(tokens, at)) return;
    if (condition.length === 1 && first.text.startsWith('$')) return;
    const is = text.slice(first.start, last.end);
    changes.push({ what: 'sql condition', start: first.start, end: last.end, put: `(1 = 1 OR ${is})` });
  });
  return changes;
}

function isAfterBetween(tokens: readonly Token[], at: number): boolean {
  for (const token of tokens.slice(0, at).reverse()) {
    if (/^BETWEEN$/i.test(token.text)) return true;
    if (endsCondition.test(token.text)) return false;
  }
  return false;
}

function boundariesOf(tokens: readonly Token[]): TextChange[] {
  return tokens.flatMap(({ text, start, end }) => {
    const put = boundaries[text];
    return put === undefined ? [] : [{ what: 'sql boundary' as const, start, end, put }];
  });
}

function orders(tokens: readonly Token[]): TextChange[] {
  return tokens.flatMap(({ text, start, end }) =>
    /^(?:ASC|DESC)$/.test(text)
      ? [{ what: 'sql order' as const, start, end, put: text === 'ASC' ? 'DESC' : 'ASC' }]
      : [],
  );
}

function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  let depth = 0;
  const pattern = /'(?:[^'\\]|'')*'|\$\{|--[^\n]*|[A-Za-z_][\w.]*|\d+|<=|>=|<>|!=|[^\s]/g;
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    const start = match.index;
    let [word] = match;
    if (word.startsWith('--')) continue;
    if (word === '${') {
      word = text.slice(start, endOfInsertion(text, start + 2));
      pattern.lastIndex = start + word.length;
    }
    if (word === ')') depth -= 1;
    tokens.push({ text: word, start, end: start + word.length, depth });
    if (word === '(') depth += 1;
  }
  return tokens;
}

function endOfInsertion(text: string, from: number): number {
  let open = 1;
  for (let at = from; at < text.length; at += 1) {
    if (text[at] === '{') open += 1;
    if (text[at] === '}') open -= 1;
    if (open === 0) return at + 1;
  }
  return text.length;
}
