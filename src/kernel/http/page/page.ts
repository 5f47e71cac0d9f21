/**
 * Small pages for people: made on the server, without scripts, with nothing to fetch from anywhere, readable in daylight
 * and in the dark, on a wide screen and on a phone.
 */
import { hash } from 'node:crypto';
import type { Reply } from '../app.ts';
import { html, Markup, type Part } from './html.ts';

/** Colours and letters of every page. */
export const pageColours = `
:root {
  color-scheme: light dark;
  --ink: #1c2430; --soft: #5b6675; --line: #d5dae1; --field: #ffffff; --ground: #ffffff;
  --side: #f3f5f8; --accent: #1f5fd0; --accent-ink: #ffffff; --focus: #1f5fd0;
  --bad: #b3261e; --bad-ground: #fdeeec; --good: #12703f; --note: #7a4a00; --note-ground: #fff4dc;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ink: #e8ecf2; --soft: #a3adba; --line: #3a4351; --field: #161b22; --ground: #10141a;
    --side: #171c24; --accent: #7aa8ff; --accent-ink: #0b1524; --focus: #9fc0ff;
    --bad: #ffb4ab; --bad-ground: #3a1b19; --good: #7fd8a6; --note: #f5cf87; --note-ground: #352a13;
  }
}
* { box-sizing: border-box; }
html { font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
body { margin: 0; color: var(--ink); background: var(--ground); }
`;

const style = `${pageColours}
main { max-width: 44rem; margin: 0 auto; padding: min(9vh, 4.5rem) 1.5rem 4rem; overflow-wrap: anywhere; }
h1 { margin: 0 0 .5rem; font-size: 1.75rem; line-height: 1.25; letter-spacing: -.01em; }
h2 { margin: 2.25rem 0 .5rem; font-size: 1.05rem; }
p { margin: 0 0 1rem; }
.soft, small { color: var(--soft); }
.mark { display: flex; align-items: center; gap: .6rem; margin-bottom: 2rem; color: var(--soft); font-weight: 600; }
.mark svg { width: 1.6rem; height: 1.6rem; flex: none; }
.badge { display: inline-block; font-size: .75rem; font-weight: 600; letter-spacing: .02em;
  color: var(--note); background: var(--note-ground); border-radius: .3rem; padding: .1rem .5rem; }
.figure { font-size: 2.25rem; font-weight: 650; letter-spacing: -.02em; font-variant-numeric: tabular-nums; margin: 0; }
a { color: var(--accent); }
a:focus-visible { outline: 2px solid var(--focus); outline-offset: 2px; border-radius: .2rem; }
code, pre { font: .875rem/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
pre { margin: .5rem 0 0; padding: .75rem 1rem; background: var(--side); border-radius: .5rem; overflow-x: auto;
  overflow-wrap: normal; }
table { width: 100%; border-collapse: collapse; }
th, td { text-align: left; vertical-align: baseline; padding: .45rem 1rem .45rem 0; border-bottom: 1px solid var(--line); }
th { font-weight: 400; } td { color: var(--soft); }
@media (max-width: 36rem) { th, td { display: block; border: 0; padding: 0; } td { padding-bottom: .6rem; } main { padding-top: 2rem; } }
`;

/** A gate across a road. */
export const drawing =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#1f5fd0"/><path d="M8 6v20M24 6v20" stroke="#fff" stroke-width="3" stroke-linecap="round"/><path d="M8 19 24 12" stroke="#ffd166" stroke-width="3.5" stroke-linecap="round"/></svg>';
const icon = `data:image/svg+xml,${encodeURIComponent(drawing)}`;

/** A style or script as a policy names it (CSP Level 3 §2.3.1). */
export const sourceHash = (text: string): string => `'sha256-${hash('sha256', text, 'base64')}'`;

/** Nothing may load, run, be sent or be framed (CSP Level 3 §6). */
export const pagePolicy = [
  "default-src 'none'",
  `style-src ${sourceHash(style)}`,
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** The name above the heading says whose page it is; pages in place of someone's content have none. */
export function writePage(title: string, body: Part, owner = ''): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title}</title>
<link rel="icon" href="${icon}">
<style>${new Markup(style)}</style>
</head>
<body>
<main>
${owner === '' ? undefined : html`<div class="mark">${new Markup(drawing.replace('<svg ', '<svg aria-hidden="true" '))}${owner}</div>`}
${body}
</main>
</body>
</html>
`.text;
}

/** `cacheControl`: who may keep it; nobody unless said. */
export function sendPage(reply: Reply, status: number, page: string, cacheControl = 'no-store'): Reply {
  return reply
    .code(status)
    .headers({
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': pagePolicy,
      'cache-control': cacheControl,
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
    })
    .send(page);
}
