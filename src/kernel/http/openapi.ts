/**
 * The OpenAPI document of a surface, made from its route schemas, at `/openapi.json`; and at `/api-docs` as one page to
 * read: HTML made on the server, no script, nothing from elsewhere.
 */
import swagger from '@fastify/swagger';
import { isRecord } from '../../formats/json.ts';
import type { App } from './app.ts';
import { escapeHtml } from './page/html.ts';
import { sourceHash } from './page/page.ts';

export interface OpenApiInfo {
  /** For the OpenAPI document. */
  readonly title: string;
  readonly description?: string;
  readonly version?: string;
}

/**
 * Called before any route is added. The plug-in is called directly, not queued by `register`, so that routes added
 * to the app right away are documented too.
 */
export function addOpenApi(app: App, info: OpenApiInfo): void {
  const { title, description = '', version = '1.0.0' } = info;
  swagger.fastifySwagger(
    app,
    {
      openapi: {
        openapi: '3.1.0',
        info: { title, description, version },
        components: { securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } } },
      },
      // HEAD stands in the document where a route names it; what every GET answers beside it is hidden.
      exposeHeadRoutes: true,
    },
    (error) => {
      if (error !== undefined) throw error;
    },
  );
  let json: string | undefined;
  let page: string | undefined;
  const hidden = { method: 'GET', schema: { hide: true } } as const;
  app.route({
    ...hidden,
    url: '/openapi.json',
    handler: (_request, reply) => {
      json ??= JSON.stringify(app.swagger());
      reply.header('content-type', 'application/json; charset=utf-8').send(json);
    },
  });
  app.route({
    ...hidden,
    url: '/api-docs',
    handler: (_request, reply) => {
      page ??= apiDocsPage(app.swagger());
      reply
        .header('content-type', 'text/html; charset=utf-8')
        .header('content-security-policy', apiDocsPolicy)
        .header('x-content-type-options', 'nosniff')
        .send(page);
    },
  });
}

type Json = Readonly<Record<string, unknown>>;

/** The look of `/api-docs`: readable in daylight and in the dark, on a wide screen and on a narrow one. */
const apiDocsStyle = `
:root { color-scheme: light dark; --ink: #1b2430; --soft: #5b6675; --line: #dfe4ea; --page: #fbfcfd; --card: #fff;
  --code: #f1f4f7; --get: #0f7a4f; --post: #1d5fbf; --put: #a15c00; --delete: #b3261e; --link: #1d5fbf; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6eaf0; --soft: #9aa6b5; --line: #2c3541; --page: #12171d;
  --card: #181f27; --code: #0f141a; --get: #4ccb94; --post: #7fb0ff; --put: #e9a94b; --delete: #ff8a80; --link: #7fb0ff; } }
* { box-sizing: border-box; }
html { scroll-behavior: smooth; scroll-padding-top: 1rem; }
body { margin: 0; color: var(--ink); background: var(--page); font: 16px/1.55 system-ui, sans-serif; }
a { color: var(--link); text-decoration: none; }
a:hover, a:focus { text-decoration: underline; }
code, pre { font: 0.875rem/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
pre { margin: 0.4rem 0 0; padding: 0.75rem 1rem; background: var(--code); border-radius: 8px; overflow-x: auto; }
.layout { display: grid; grid-template-columns: minmax(15rem, 20rem) minmax(0, 1fr); max-width: 84rem; margin: 0 auto; }
nav { position: sticky; top: 0; align-self: start; max-height: 100vh; overflow-y: auto; padding: 2rem 1.25rem; }
nav h2 { margin: 1.25rem 0 0.35rem; font-size: 0.75rem; letter-spacing: 0.06em; text-transform: uppercase; color: var(--soft); }
nav ul { margin: 0; padding: 0; list-style: none; }
nav li { display: flex; gap: 0.5rem; align-items: baseline; padding: 0.1rem 0; }
nav a { color: var(--ink); overflow-wrap: anywhere; font-size: 0.85rem; }
main { padding: 2rem 1.5rem 6rem; border-left: 1px solid var(--line); min-width: 0; }
h1 { margin: 0; font-size: 1.9rem; line-height: 1.2; }
.about { color: var(--soft); margin: 0.5rem 0 2rem; }
section > h2 { margin: 2.5rem 0 0.75rem; font-size: 1.2rem; }
details { background: var(--card); border: 1px solid var(--line); border-radius: 10px; margin: 0.6rem 0; }
summary { display: flex; flex-wrap: wrap; gap: 0.35rem 0.75rem; align-items: baseline; padding: 0.7rem 1rem; cursor: pointer; list-style: none; }
summary::-webkit-details-marker { display: none; }
summary:focus-visible { outline: 2px solid var(--link); border-radius: 10px; }
summary code { font-weight: 600; overflow-wrap: anywhere; }
summary span:last-child { color: var(--soft); }
.method { font: 700 0.72rem/1 ui-monospace, Menlo, Consolas, monospace; min-width: 3.4rem; color: var(--soft); }
nav .method { min-width: 2.9rem; font-size: 0.65rem; }
.get { color: var(--get); } .post { color: var(--post); } .put, .patch { color: var(--put); } .delete { color: var(--delete); }
.body { padding: 0 1rem 1rem; border-top: 1px solid var(--line); }
h3 { margin: 1.1rem 0 0.3rem; font-size: 0.8rem; letter-spacing: 0.05em; text-transform: uppercase; color: var(--soft); }
table { width: 100%; border-collapse: collapse; font-size: 0.9rem; }
th, td { text-align: left; vertical-align: top; padding: 0.4rem 0.75rem 0.4rem 0; border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
th { font-weight: 600; color: var(--soft); }
td:first-child { white-space: nowrap; }
td pre, td p { margin: 0; }
td p + pre { margin-top: 0.4rem; }
@media (max-width: 56rem) { .layout { display: block; } nav { position: static; max-height: none; padding-bottom: 0; } main { border-left: 0; } }
`;

/** Nothing may load or run on the page but its own style sheet (CSP Level 3 §6). */
const apiDocsPolicy = [
  "default-src 'none'",
  `style-src ${sourceHash(apiDocsStyle)}`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const methods = ['get', 'head', 'post', 'put', 'patch', 'delete', 'options'];

interface Operation {
  readonly method: string;
  readonly path: string;
  readonly anchor: string;
  readonly tag: string;
  readonly detail: Json;
}

function apiDocsPage(source: object): string {
  const document: Json = { ...source };
  const info = isRecord(document.info) ? document.info : {};
  const title = text(info.title) || 'API';
  const groups = Map.groupBy(operations(document), (operation) => operation.tag);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<style>${apiDocsStyle}</style>
</head>
<body>
<div class="layout">
<nav aria-label="Routes">${[...groups].map(([tag, members]) => navigation(tag, members)).join('')}</nav>
<main>
<h1>${escapeHtml(title)}</h1>
<p class="about">${escapeHtml([text(info.description), `Version ${text(info.version)}.`].filter(Boolean).join(' '))}
The same for machines: <a href="openapi.json">openapi.json</a>.</p>
${[...groups].map(([tag, members]) => section(tag, members, document)).join('\n')}
</main>
</div>
</body>
</html>
`;
}

function operations(document: Json): Operation[] {
  const paths = isRecord(document.paths) ? Object.entries(document.paths) : [];
  return paths.flatMap(([path, item]) =>
    methods.flatMap((method) => {
      const detail = isRecord(item) ? item[method] : undefined;
      if (!isRecord(detail)) return [];
      const tag = Array.isArray(detail.tags) ? text(detail.tags[0]) : '';
      const anchor = `${method}${path}`.replace(/[^A-Za-z0-9]+/g, '-');
      return [{ method, path, anchor, tag, detail }];
    }),
  );
}

function navigation(tag: string, members: readonly Operation[]): string {
  const items = members.map(
    ({ method, path, anchor }) => `<li>${badge(method)}<a href="#${anchor}">${escapeHtml(path)}</a></li>`,
  );
  return `<h2>${escapeHtml(tag || 'Routes')}</h2><ul>${items.join('')}</ul>`;
}

function section(tag: string, members: readonly Operation[], document: Json): string {
  const heading = tag === '' ? '' : `<h2>${escapeHtml(tag)}</h2>`;
  return `<section>${heading}${members.map((member) => operation(member, document)).join('\n')}</section>`;
}

function operation({ method, path, anchor, detail }: Operation, document: Json): string {
  const description = text(detail.description);
  const parts = [
    description === '' ? '' : `<p>${escapeHtml(description)}</p>`,
    parameters(detail.parameters, document),
    requestBody(detail.requestBody, document),
    responses(detail.responses, document),
  ];
  return `<details id="${anchor}" open>
<summary>${badge(method)}<code>${escapeHtml(path)}</code><span>${escapeHtml(text(detail.summary))}</span></summary>
<div class="body">${parts.join('')}</div>
</details>`;
}

function parameters(list: unknown, document: Json): string {
  if (!Array.isArray(list) || list.length === 0) return '';
  const rows = list.filter(isRecord).map((parameter) => {
    const notes = [text(parameter.description), constraintText(parameter.schema)].filter(Boolean).join('; ');
    const place = `${text(parameter.in)}${parameter.required === true ? ', required' : ''}`;
    const type = schemaText(parameter.schema, document);
    return row(code(text(parameter.name)), escapeHtml(place), code(type), escapeHtml(notes));
  });
  return `<h3>Parameters</h3><table><tr><th>Name</th><th>In</th><th>Type</th><th>Notes</th></tr>${rows.join('')}</table>`;
}

function requestBody(body: unknown, document: Json): string {
  const shown = content(body, document);
  return shown === '' ? '' : `<h3>Body</h3>${shown}`;
}

function responses(answers: unknown, document: Json): string {
  if (!isRecord(answers)) return '';
  const rows = Object.entries(answers).map(([status, answer]) => {
    const description = isRecord(answer) ? text(answer.description) : '';
    const words = description === 'Default Response' ? '' : `<p>${escapeHtml(description)}</p>`;
    return row(code(status), `${words}${content(answer, document)}`);
  });
  return `<h3>Answers</h3><table>${rows.join('')}</table>`;
}

/** Each media type with its schema. */
function content(holder: unknown, document: Json): string {
  const types = isRecord(holder) && isRecord(holder.content) ? Object.entries(holder.content) : [];
  return types
    .map(([type, media]) => {
      const shape = schemaText(isRecord(media) ? media.schema : undefined, document);
      const label = type === 'application/json' ? '' : code(type);
      return `${label}<pre>${escapeHtml(shape)}</pre>`;
    })
    .join('');
}

function badge(method: string): string {
  return `<span class="method ${method}">${method.toUpperCase()}</span>`;
}

function row(...cells: string[]): string {
  return `<tr>${cells.map((cell) => `<td>${cell}</td>`).join('')}</tr>`;
}

function code(content: string): string {
  return `<code>${escapeHtml(content)}</code>`;
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

const depthLimit = 12;

/**
 * A JSON Schema as one reads a type: `{ winc: string, adjustments?: { name: string }[] }`, over several lines where it
 * has members. References are looked up in the document.
 */
export function schemaText(schema: unknown, document: Json, indent = '', depth = 0): string {
  if (!isRecord(schema)) return 'any';
  if (depth > depthLimit) return '…';
  const inner = (part: unknown) => schemaText(part, document, indent, depth + 1);
  if (typeof schema.$ref === 'string') return inner(lookUp(schema.$ref, document));
  if ('const' in schema) return JSON.stringify(schema.const);
  if (Array.isArray(schema.enum)) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  for (const word of ['anyOf', 'oneOf'] as const) {
    const parts = schema[word];
    if (Array.isArray(parts)) return [...new Set(parts.map(inner))].join(' | ');
  }
  if (Array.isArray(schema.allOf)) return schema.allOf.map(inner).join(' & ');
  if (schema.type === 'array') return arrayText(inner(schema.items));
  if (schema.type === 'object' || isRecord(schema.properties)) {
    return objectText(schema, document, indent, depth);
  }
  const type = Array.isArray(schema.type) ? schema.type.join(' | ') : schema.type;
  return typeof type === 'string' ? type : 'any';
}

/** What narrows a value beyond its type: `1 to 5`, `at most 61 characters`, `matches ^[0-9]+$`. */
export function constraintText(schema: unknown): string {
  if (!isRecord(schema)) return '';
  const found: string[] = [];
  const { minimum, maximum, minLength, maxLength, pattern, format } = schema;
  if (minimum !== undefined && maximum !== undefined) found.push(`${minimum} to ${maximum}`);
  else if (minimum !== undefined) found.push(`at least ${minimum}`);
  else if (maximum !== undefined) found.push(`at most ${maximum}`);
  if (minLength !== undefined && minLength === maxLength) found.push(`${minLength} characters`);
  else {
    if (minLength !== undefined) found.push(`at least ${minLength} characters`);
    if (maxLength !== undefined) found.push(`at most ${maxLength} characters`);
  }
  if (pattern !== undefined) found.push(`matches ${pattern}`);
  if (format !== undefined) found.push(String(format));
  if ('default' in schema) found.push(`default ${JSON.stringify(schema.default)}`);
  return found.join(', ');
}

function arrayText(item: string): string {
  return item.includes(' | ') || item.includes(' & ') ? `(${item})[]` : `${item}[]`;
}

function objectText(schema: Json, document: Json, indent: string, depth: number): string {
  const properties = isRecord(schema.properties) ? Object.entries(schema.properties) : [];
  const required: unknown[] = Array.isArray(schema.required) ? schema.required : [];
  const inside = `${indent}  `;
  const lines = properties.map(([name, member]) => {
    const key = /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
    const note =
      isRecord(member) && typeof member.description === 'string' ? `  // ${member.description}` : '';
    const type = schemaText(member, document, inside, depth + 1);
    return `${inside}${key}${required.includes(name) ? '' : '?'}: ${type},${note}`;
  });
  const additional = schema.additionalProperties ?? firstValue(schema.patternProperties);
  if (isRecord(additional))
    lines.push(`${inside}[name]: ${schemaText(additional, document, inside, depth + 1)},`);
  return lines.length === 0 ? 'object' : `{\n${lines.join('\n')}\n${indent}}`;
}

function firstValue(value: unknown): unknown {
  return isRecord(value) ? Object.values(value)[0] : undefined;
}

/** `#/components/schemas/x` in the document. */
function lookUp(reference: string, document: Json): unknown {
  return reference
    .slice(2)
    .split('/')
    .reduce<unknown>((place, name) => (isRecord(place) ? place[name] : undefined), document);
}
