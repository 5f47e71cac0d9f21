/** How content is shown, by its type and size. Whatever is not known is shown as bytes. */

export type PreviewKind =
  | 'image'
  | 'audio'
  | 'video'
  | 'pdf'
  | 'page'
  | 'manifest'
  | 'json'
  | 'text'
  | 'bytes'
  | 'nothing';

/** Shown at once up to these; beyond them when somebody asks. */
export const maxShownBytes: Readonly<Record<'image' | 'audio' | 'video' | 'pdf' | 'page', number>> = {
  image: 16 * 1024 * 1024,
  // They are read as they play.
  audio: Number.MAX_SAFE_INTEGER,
  video: Number.MAX_SAFE_INTEGER,
  pdf: 64 * 1024 * 1024,
  page: 16 * 1024 * 1024,
};
/** Of text; more is cut. */
export const maxTextBytes = 256 * 1024;
export const maxJsonBytes = 1024 * 1024;
export const maxManifestBytes = 8 * 1024 * 1024;
/** Of what is shown as bytes. */
export const maxHexBytes = 512;

const pages = new Set(['text/html', 'application/xhtml+xml']);
const texts = new Set([
  'application/javascript',
  'application/x-javascript',
  'application/ecmascript',
  'application/xml',
  'application/yaml',
  'application/x-yaml',
  'application/toml',
  'application/sql',
  'application/graphql',
  'application/x-sh',
  'application/x-ndjson',
  'application/jsonl',
]);

export function previewKind(contentType: string, size: number | undefined): PreviewKind {
  if (size === 0) return 'nothing';
  const type = (contentType.split(';', 1)[0] ?? '').trim().toLowerCase();
  if (type === 'application/x.arweave-manifest+json') return 'manifest';
  if (pages.has(type)) return 'page';
  if (type === 'application/pdf') return 'pdf';
  // Scripts of an SVG do not run in an image.
  if (type.startsWith('image/')) return 'image';
  if (type.startsWith('audio/')) return 'audio';
  if (type.startsWith('video/')) return 'video';
  if (type === 'application/json' || type.endsWith('+json')) return 'json';
  if (type.startsWith('text/') || texts.has(type) || type.endsWith('+xml')) return 'text';
  return 'bytes';
}

/** Lines of an offset, bytes in hex, and what of them is ASCII. */
export function hexLines(bytes: Uint8Array): string {
  const lines: string[] = [];
  for (let at = 0; at < Math.min(bytes.length, maxHexBytes); at += 16) {
    const row = [...bytes.subarray(at, Math.min(at + 16, maxHexBytes))];
    const hex = row.map((byte) => byte.toString(16).padStart(2, '0')).join(' ');
    const ascii = row.map((byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : '.')).join('');
    lines.push(`${at.toString(16).padStart(6, '0')}  ${hex.padEnd(47)}  ${ascii}`);
  }
  return lines.join('\n');
}
