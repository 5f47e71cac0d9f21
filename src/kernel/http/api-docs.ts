/** The OpenAPI document as one page to read: HTML made on the server, no script, nothing from elsewhere. */
import { hash } from 'node:crypto';
import { constraintText, isRecord, type Json, schemaText } from './api-docs-schema.ts';
import { apiDocsStyle } from './api-docs-style.ts';

/** Nothing may load or run on the page but its own style sheet (CSP Level 3 §6). */
export const apiDocsPolicy = [
  "default-src 'none'",
  `style-src 'sha256-${hash('sha256', apiDocsStyle, 'base64')}'`,
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

export function apiDocsPage(source: object): string {
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

function escapeHtml(raw: string): string {
  return raw
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
}
