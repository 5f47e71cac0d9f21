import { tryDecodePercent } from '../../../formats/percent-encoding.ts';
import { StartupError } from '../../../kernel/errors.ts';

export interface S3Address {
  /** `http://host:port` or `https://host:port`. */
  readonly origin: string;
  readonly bucket: string;
  /** Before every key: empty, or a path that ends in `/`. */
  readonly prefix: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly region: string;
}

/**
 * `s3://key:secret@host:port/bucket[/prefix][?region=…]`, or `s3s://` over TLS. Key and secret are
 * percent-encoded where they contain `/`, `+`, `@` or `:`.
 */
export function parseS3Url(text: string): S3Address {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw malformed();
  }
  const [bucket = '', ...prefix] = url.pathname.split('/').filter((part) => part !== '');
  const secure = url.protocol === 's3s:';
  if (!(secure || url.protocol === 's3:') || url.hostname === '' || url.hash !== '') throw malformed();
  if (url.username === '' || url.password === '') throw malformed();
  if (!/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(bucket)) throw malformed();
  if (!prefix.every((part) => /^[A-Za-z0-9_-][A-Za-z0-9._-]*$/.test(part))) throw malformed();
  for (const name of url.searchParams.keys()) if (name !== 'region') throw malformed();
  return {
    origin: `${secure ? 'https' : 'http'}://${url.host}`,
    bucket,
    prefix: prefix.map((part) => `${part}/`).join(''),
    accessKeyId: unescaped(url.username),
    secretAccessKey: unescaped(url.password),
    region: url.searchParams.get('region') ?? 'us-east-1',
  };
}

/** Says nothing of the value, which holds a secret. */
function unescaped(text: string): string {
  const decoded = tryDecodePercent(text);
  if (decoded === undefined) throw malformed();
  return decoded;
}

function malformed(): StartupError {
  return new StartupError(
    'BLOB_STORE_URL must be s3://key:secret@host:port/bucket or s3s://… with an optional ?region=',
  );
}
