/** What a bucket holds below its prefix, page by page: memory holds one page, however many there are. */
import { tryDecodePercent } from '../../../formats/percent-encoding.ts';
import { BlobStoreUnavailable } from '../blobs.ts';
import { element, type S3Client } from './client.ts';

/** An object or an unfinished upload, with its age by the clock of the store. */
interface Listed {
  /** Within the prefix. */
  readonly key: string;
  readonly ageMs: number;
}

export interface ListedObject extends Listed {
  readonly size: number;
}

export interface ListedUpload extends Listed {
  readonly uploadId: string;
}

const pageSize = '1000';
/** A thousand keys of a thousand bytes, each percent-encoded. */
const maxPageLength = 8 * 1024 * 1024;

/** Objects whose keys begin with `below`, in the order of the store. */
export async function* listObjects(client: S3Client, below = ''): AsyncGenerator<ListedObject> {
  const query = { 'list-type': '2', prefix: client.prefix + below, 'max-keys': pageSize };
  for await (const page of pages(client, query, { NextContinuationToken: 'continuation-token' })) {
    for (const xml of elements(page.xml, 'Contents')) {
      yield { ...listed(client, page, xml, 'LastModified'), size: Number(required(xml, 'Size')) };
    }
  }
}

/** Uploads in parts that were begun and neither completed nor aborted. */
export async function* listUploads(client: S3Client): AsyncGenerator<ListedUpload> {
  const query = { uploads: '', prefix: client.prefix, 'max-uploads': pageSize };
  const markers = { NextKeyMarker: 'key-marker', NextUploadIdMarker: 'upload-id-marker' };
  for await (const page of pages(client, query, markers)) {
    for (const xml of elements(page.xml, 'Upload')) {
      yield { ...listed(client, page, xml, 'Initiated'), uploadId: required(xml, 'UploadId') };
    }
  }
}

interface Page {
  readonly xml: string;
  /** What time it was at the store. */
  readonly now: number;
  /** Whether keys are percent-encoded, as was asked for. */
  readonly isEncoded: boolean;
}

/** `markers` are the elements of an answer that say where the next page begins, and how a request names them. */
async function* pages(
  client: S3Client,
  query: Readonly<Record<string, string>>,
  markers: Readonly<Record<string, string>>,
): AsyncGenerator<Page> {
  for (let at: Record<string, string> = {}, before = ''; ; ) {
    // Keys may hold characters that XML has no way to write.
    const asked = { ...query, ...at, 'encoding-type': 'url' };
    const { xml, headers } = await client.ask({ method: 'GET', key: '', query: asked }, maxPageLength);
    const now = typeof headers.date === 'string' ? Date.parse(headers.date) : Number.NaN;
    const isEncoded = element(xml, 'EncodingType') === 'url';
    yield { xml, now: Number.isNaN(now) ? Date.now() : now, isEncoded };
    if (element(xml, 'IsTruncated') !== 'true') return;
    const next = Object.entries(markers).map(([from, to]) => {
      const value = required(xml, from);
      return [to, from === 'NextKeyMarker' && isEncoded ? decoded(value) : value];
    });
    // A store that sends us round in a circle would keep us there.
    if (JSON.stringify(next) === before) throw unreadable();
    before = JSON.stringify(next);
    at = Object.fromEntries(next);
  }
}

function listed(client: S3Client, page: Page, xml: string, since: 'LastModified' | 'Initiated'): Listed {
  const written = required(xml, 'Key');
  const key = page.isEncoded ? decoded(written) : written;
  const at = Date.parse(required(xml, since));
  if (!key.startsWith(client.prefix) || Number.isNaN(at)) throw unreadable();
  return { key: key.slice(client.prefix.length), ageMs: page.now - at };
}

function* elements(xml: string, name: string): Generator<string> {
  for (const [, inner = ''] of xml.matchAll(new RegExp(`<${name}>(.*?)</${name}>`, 'gs'))) yield inner;
}

function required(xml: string, name: string): string {
  const found = element(xml, name);
  if (found === undefined) throw unreadable();
  return found;
}

/** Some stores write a blank as `+`, and all a plus sign as `%2B`. */
function decoded(encoded: string): string {
  const text = tryDecodePercent(encoded.replaceAll('+', ' '));
  if (text === undefined) throw unreadable();
  return text;
}

function unreadable(): BlobStoreUnavailable {
  return new BlobStoreUnavailable('the blob store answers a list that cannot be read');
}
