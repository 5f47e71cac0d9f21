/** The one document of the page; every path that is no file answers it, and its program shows what the path names. */
import { html } from '../kernel/http/page/html.ts';

export interface PageFiles {
  /** By name; each name but those of source maps changes with what is in the file. */
  readonly files: ReadonlyMap<string, Buffer>;
  /** The page's programs: `main`, and those of workers. */
  readonly scripts: Readonly<Record<string, string>>;
  readonly style: string;
}

export const assetsPath = '/assets/';

export function writeIndex({ scripts, style }: PageFiles): string {
  const workers = Object.entries(scripts).filter(([name]) => name !== 'main');
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<meta name="color-scheme" content="light dark">
<title>Turnpike</title>
<link rel="icon" href="/icon.svg">
<link rel="stylesheet" href="${assetsPath}${style}">
${workers.map(([name, file]) => html`<meta name="worker-${name}" content="${assetsPath}${file}">\n`)}
<script type="module" src="${assetsPath}${scripts.main}"></script>
</head>
<body>
<div id="app"></div>
<noscript>The console needs JavaScript. Everything it does can be done with the command "turnpike" too.</noscript>
</body>
</html>
`.text;
}
