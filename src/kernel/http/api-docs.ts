/** The OpenAPI document as one page to read: plain HTML made on the server, no script, nothing from elsewhere. */

export const apiDocsPolicy =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

export function apiDocsPage(document: object): string {
  return `<!doctype html><meta charset="utf-8"><title>API</title><pre>${escapeHtml(JSON.stringify(document, null, 2))}</pre>`;
}

function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
