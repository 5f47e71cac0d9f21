/**
 * AWS Signature Version 4 for S3: the headers of a request are signed, and its body by its digest. The key of the day is
 * derived once. All of it is small hashes, which are made here: a trip to another thread costs more than each.
 */
import { createHmac, hash } from 'node:crypto';
import type { S3Address } from './address.ts';

export interface UnsignedRequest {
  readonly method: string;
  readonly url: URL;
  /** By their names in small letters. */
  readonly headers: Readonly<Record<string, string>>;
  /** SHA-256 of the body, in hex. */
  readonly bodyDigest: string;
}

/** Proxies may ask for another part than they were asked for. */
const unsigned = 'range';

export class S3Signer {
  readonly #address: Pick<S3Address, 'accessKeyId' | 'secretAccessKey' | 'region'>;
  #key: { readonly day: string; readonly bytes: Buffer } | undefined;

  constructor(address: Pick<S3Address, 'accessKeyId' | 'secretAccessKey' | 'region'>) {
    this.#address = address;
  }

  /** The headers that the request is sent with. */
  sign({ method, url, headers, bodyDigest }: UnsignedRequest, now = new Date()): Record<string, string> {
    const { accessKeyId, region } = this.#address;
    const time = now.toISOString().replace(/[-:]|\.\d{3}/g, '');
    const day = time.slice(0, 8);
    const sent: Record<string, string> = {
      ...headers,
      'x-amz-content-sha256': bodyDigest,
      'x-amz-date': time,
    };
    const signed: Record<string, string> = { ...sent, host: url.host };
    const names = Object.keys(signed)
      .filter((name) => name !== unsigned)
      .sort();
    const canonical = [
      method,
      canonicalPath(url),
      canonicalQuery(url),
      ...names.map((name) => `${name}:${signed[name]?.trim().replace(/\s+/g, ' ')}`),
      '',
      names.join(';'),
      bodyDigest,
    ].join('\n');
    const scope = `${day}/${region}/s3/aws4_request`;
    const toSign = `AWS4-HMAC-SHA256\n${time}\n${scope}\n${hash('sha256', canonical, 'hex')}`;
    const signature = createHmac('sha256', this.#keyOf(day)).update(toSign).digest('hex');
    const authorization = `AWS4-HMAC-SHA256 Credential=${accessKeyId}/${scope}, SignedHeaders=${names.join(';')}, Signature=${signature}`;
    return { ...sent, authorization };
  }

  #keyOf(day: string): Buffer {
    if (this.#key?.day === day) return this.#key.bytes;
    const { secretAccessKey, region } = this.#address;
    let bytes: Buffer = Buffer.from(`AWS4${secretAccessKey}`);
    for (const part of [day, region, 's3', 'aws4_request'])
      bytes = createHmac('sha256', bytes).update(part).digest();
    this.#key = { day, bytes };
    return bytes;
  }
}

/** Everything but letters, digits and `-._~` is escaped, once. */
const escaped = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`);

const canonicalPath = ({ pathname }: URL): string =>
  pathname
    .split('/')
    .map((part) => escaped(decodeURIComponent(part)))
    .join('/');

function canonicalQuery({ search, searchParams }: URL): string {
  if (search === '') return '';
  return [...searchParams]
    .map(([name, value]) => `${escaped(name)}=${escaped(value)}`)
    .sort()
    .join('&');
}
