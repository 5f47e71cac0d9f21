/**
 * A page to try queries: editor, variables, answer, and the schema read by introspection. One document, no script
 * or style from elsewhere, so that it works offline and under a strict policy.
 */
import { exampleQuery } from '../../formats/graphql-example.ts';
import { sourceHash } from '../../kernel/http/page/page.ts';

const style = `
:root { color-scheme: light dark; --line: #8884; --accent: #2a6f97; }
* { box-sizing: border-box; }
body { margin: 0; font: 14px/1.5 system-ui, sans-serif; height: 100vh; display: grid; grid-template-rows: auto 1fr; }
header { display: flex; gap: 1rem; align-items: center; padding: .5rem 1rem; border-bottom: 1px solid var(--line); }
h1 { font-size: 1rem; margin: 0; flex: 1; }
button { font: inherit; padding: .3rem .9rem; border: 1px solid var(--accent); background: var(--accent); color: #fff;
  border-radius: .3rem; cursor: pointer; }
main { display: grid; grid-template-columns: 1fr 1fr 18rem; min-height: 0; }
section { display: flex; flex-direction: column; min-width: 0; min-height: 0; border-right: 1px solid var(--line); }
textarea, pre { flex: 1; margin: 0; padding: .75rem 1rem; border: 0; font: 13px/1.5 ui-monospace, monospace; resize: none;
  overflow: auto; background: transparent; color: inherit; tab-size: 2; }
textarea:focus-visible, button:focus-visible, summary:focus-visible { outline: 2px solid var(--accent); outline-offset: -2px; }
label { padding: .25rem 1rem; border-bottom: 1px solid var(--line); font-weight: 600; }
#variables { flex: 0 0 7rem; }
#schema { overflow: auto; padding: .5rem 1rem; }
#schema code { font: 12px ui-monospace, monospace; }
#schema p { margin: .1rem 0 .5rem; opacity: .75; }
@media (max-width: 60rem) { main { grid-template-columns: 1fr; grid-auto-rows: minmax(16rem, auto); } body { height: auto; } }
`;

const script = `
const query = document.getElementById('query');
const variables = document.getElementById('variables');
const answer = document.getElementById('answer');
const schema = document.getElementById('schema');
// Behind a router the page has no storage of its own; it works without.
function keep(name, text) { try { localStorage.setItem(name, text); } catch {} }
function kept(name) { try { return localStorage.getItem(name); } catch { return null; } }
async function ask(body) {
  const response = await fetch(location.pathname, {
    method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
  return response.json();
}
async function run() {
  answer.textContent = 'asking …';
  try {
    const given = variables.value.trim();
    const started = performance.now();
    const result = await ask({ query: query.value, variables: given ? JSON.parse(given) : undefined });
    answer.textContent = JSON.stringify(result, null, 2) + '\\n\\n' + Math.round(performance.now() - started) + ' ms';
  } catch (error) { answer.textContent = String(error); }
  keep('query', query.value);
  keep('variables', variables.value);
}
function typeName(type) {
  if (type.kind === 'NON_NULL') return typeName(type.ofType) + '!';
  if (type.kind === 'LIST') return '[' + typeName(type.ofType) + ']';
  return type.name;
}
function element(tag, text) { const made = document.createElement(tag); made.textContent = text; return made; }
async function describe() {
  const ref = 'kind name ofType { kind name ofType { kind name ofType { kind name } } }';
  const { data } = await ask({ query: '{ __schema { types { kind name description ' +
    'fields(includeDeprecated: true) { name description args { name type { ' + ref + ' } } type { ' + ref + ' } } ' +
    'inputFields { name description type { ' + ref + ' } } enumValues { name description } } } }' });
  for (const type of data.__schema.types) {
    if (type.name.startsWith('__') || type.kind === 'SCALAR') continue;
    const details = document.createElement('details');
    details.append(element('summary', type.name));
    for (const member of type.fields || type.inputFields || type.enumValues) {
      const args = member.args && member.args.length
        ? '(' + member.args.map((arg) => arg.name + ': ' + typeName(arg.type)).join(', ') + ')' : '';
      details.append(element('code', member.name + args + (member.type ? ': ' + typeName(member.type) : '')));
      details.append(element('p', member.description || ''));
    }
    schema.append(details);
  }
}
document.getElementById('run').addEventListener('click', run);
document.addEventListener('keydown', (event) => {
  if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) { event.preventDefault(); run(); }
});
query.value = kept('query') || query.value;
variables.value = kept('variables') || '';
describe().catch((error) => schema.append(element('p', String(error))));
`;

export const graphqlPagePolicy = [
  "default-src 'none'",
  `script-src ${sourceHash(script)}`,
  `style-src ${sourceHash(style)}`,
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

export const graphqlPage = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>GraphQL</title>
<style>${style}</style>
</head>
<body>
<header><h1>GraphQL</h1><span>Ctrl + Enter</span><button id="run">Run</button></header>
<main>
<section><label for="query">Query</label><textarea id="query" spellcheck="false">${exampleQuery}</textarea>
<label for="variables">Variables (JSON)</label><textarea id="variables" spellcheck="false"></textarea></section>
<section><label>Answer</label><pre id="answer" aria-live="polite"></pre></section>
<section><label>Schema</label><div id="schema"></div></section>
</main>
<script>${script}</script>
</body>
</html>
`;
