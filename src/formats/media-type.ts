/**
 * Media types (RFC 9110 §8.3.1) as uploaders wrote them: how text is read that names no charset, and what a browser
 * could run.
 */
import { manifestContentType } from './manifest/manifest.ts';

interface MediaType {
  /** `type/subtype` as it was written. */
  readonly name: string;
  /** The same in lower case. */
  readonly essence: string;
  /** `name=value`, without those that are empty. */
  readonly parameters: readonly string[];
}

const name = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+\/[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const parameter = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+=(?:[!#$%&'*+.^_`|~0-9A-Za-z-]+|"[^",\\]*")$/;

/** The same few are asked about with every answer. */
const known = new Map<string, MediaType | undefined>();
const [maxKnown, maxKnownLength] = [1_000, 128];

/** undefined for anything in doubt: browsers take the last of several types, and guess where there is none. */
function parseMediaType(text: string): MediaType | undefined {
  const before = known.get(text);
  if (before !== undefined || known.has(text)) return before;
  const type = readMediaType(text);
  if (text.length > maxKnownLength) return type;
  if (known.size === maxKnown) known.clear();
  known.set(text, type);
  return type;
}

function readMediaType(text: string): MediaType | undefined {
  const [first = '', ...rest] = text.split(';').map((part) => part.replace(/^[ \t]+|[ \t]+$/g, ''));
  const parameters = rest.filter((one) => one !== '');
  if (!name.test(first) || !parameters.every((one) => parameter.test(one))) return undefined;
  return { name: first, essence: first.toLowerCase(), parameters };
}

const javaScript = new Set([
  'application/ecmascript',
  'application/javascript',
  'application/x-ecmascript',
  'application/x-javascript',
  'text/ecmascript',
  'text/javascript',
]);

export function isJavaScript(contentType: string): boolean {
  return javaScript.has(parseMediaType(contentType)?.essence ?? '');
}

/**
 * The type to serve: text, JSON and scripts that name no charset are UTF-8. Without one, browsers read them as
 * windows-1252. XML says its encoding itself and is UTF-8 where it does not; the manifest's type is compared as a whole
 * by clients. What is no media type stays as it is.
 */
export function withCharset(contentType: string): string {
  const type = parseMediaType(contentType);
  if (type === undefined || !isText(type.essence)) return contentType;
  if (type.parameters.some((one) => /^charset=/i.test(one))) return contentType;
  return [type.name, ...type.parameters, 'charset=utf-8'].join('; ');
}

function isText(essence: string): boolean {
  if (essence === manifestContentType || isXml(essence)) return false;
  return essence.startsWith('text/') || isJson(essence) || javaScript.has(essence);
}

function isXml(essence: string): boolean {
  return essence.endsWith('+xml') || essence === 'text/xml' || essence === 'text/xsl';
}

function isJson(essence: string): boolean {
  return essence.endsWith('+json') || essence === 'application/json';
}

const inertFamilies = /^(?:image|audio|video|font|model)\//;
const inert = new Set([
  ...javaScript,
  'application/gzip',
  'application/octet-stream',
  'application/pdf',
  'application/wasm',
  'application/zip',
  'text/calendar',
  'text/css',
  'text/csv',
  'text/json',
  'text/markdown',
  'text/plain',
  'text/tab-separated-values',
  'text/vtt',
]);

/**
 * Whether a browser that opens content of that type may run scripts of it in the origin it came from. The known
 * harmless ones are listed, not the harmful: browsers render more types as HTML or XML than anybody remembers. A PDF's
 * scripts run in the viewer, not in the origin.
 */
export function isActiveType(contentType: string): boolean {
  const essence = parseMediaType(contentType)?.essence;
  if (essence === undefined || isXml(essence)) return true;
  return !(inertFamilies.test(essence) || isJson(essence) || inert.has(essence));
}
