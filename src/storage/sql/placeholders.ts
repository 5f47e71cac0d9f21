/** The `?` of a statement, which are not looked for in quotes and comments. */

/** Quoted text and comments, kept as they are, or one placeholder. */
const tokens = /'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\/\*[\s\S]*?\*\/|\?/g;

export function countPlaceholders(statement: string): number {
  let count = 0;
  for (const [token] of statement.matchAll(tokens)) if (token === '?') count += 1;
  return count;
}

/** With `$1`, `$2`, … as PostgreSQL wants them. */
export function numbered(statement: string): string {
  let count = 0;
  return statement.replace(tokens, (token) => {
    if (token !== '?') return token;
    count += 1;
    return `$${count}`;
  });
}
