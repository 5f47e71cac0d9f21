/** Content of every kind for the explorer, some of it hostile, as items that are signed and uploaded. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { deflateSync } from 'node:zlib';
import { buildManifest } from '../../src/formats/manifest/manifest.ts';
import {
  ethereumSigner,
  type ItemSigner,
  signItem,
  solanaSigner,
} from '../../src/wallets/data-items/signer.ts';
import { testEd25519Key, testEthereumKey } from '../../src/wallets/testing/keys.ts';

interface Tag {
  readonly name: string;
  readonly value: string;
}

export interface Sample {
  readonly id: string;
  readonly bytes: Buffer;
}

export const solana = solanaSigner(testEd25519Key);
export const ethereum = ethereumSigner(testEthereumKey);

export async function makeItem(
  type: string,
  data: Buffer | string,
  tags: readonly Tag[] = [],
  signer: ItemSigner = solana,
): Promise<Sample> {
  const bytes = await signItem(
    { data: Buffer.from(data), tags: [{ name: 'Content-Type', value: type }, ...tags] },
    signer,
  );
  const signature = bytes.subarray(2, signer.signatureType === 3 ? 67 : 66);
  return { bytes, id: createHash('sha256').update(signature).digest('base64url') };
}

/** Answers the receipt. */
export async function uploadSample(upload: string, { bytes }: Sample): Promise<Record<string, unknown>> {
  const answer = await fetch(`${upload}/v1/tx`, {
    method: 'POST',
    headers: { 'content-type': 'application/octet-stream' },
    body: new Uint8Array(bytes),
  });
  const text = await answer.text();
  assert.equal(answer.status, 200, text);
  return JSON.parse(text);
}

/** Binary bundle of ANS-104. */
export function bundleOf(items: readonly Sample[]): Buffer {
  const number = (value: number) => {
    const bytes = Buffer.alloc(32);
    bytes.writeUInt32LE(value, 0);
    return bytes;
  };
  const heads = items.flatMap(({ id, bytes }) => [number(bytes.length), Buffer.from(id, 'base64url')]);
  return Buffer.concat([number(items.length), ...heads, ...items.map(({ bytes }) => bytes)]);
}

export const bundleTags: readonly Tag[] = [
  { name: 'Bundle-Format', value: 'binary' },
  { name: 'Bundle-Version', value: '2.0.0' },
];

/** A picture of so many pixels, red to blue. */
export function png(width = 120, height = 80): Buffer {
  const rows = Buffer.alloc(height * (1 + 3 * width));
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      rows.set(
        [
          255 - 16 * Math.floor((16 * x) / width),
          16 * Math.floor((16 * y) / height),
          16 * Math.floor((16 * x) / width),
        ],
        y * (1 + 3 * width) + 1 + 3 * x,
      );
    }
  }
  const size = Buffer.alloc(13);
  size.writeUInt32BE(width, 0);
  size.writeUInt32BE(height, 4);
  size.set([8, 2, 0, 0, 0], 8);
  return Buffer.concat([
    Buffer.from('89504e470d0a1a0a', 'hex'),
    pngChunk('IHDR', size),
    pngChunk('IDAT', deflateSync(rows)),
    pngChunk('IEND', Buffer.alloc(0)),
  ]);
}

function pngChunk(name: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(name), data]);
  const head = Buffer.alloc(4);
  head.writeUInt32BE(data.length);
  const tail = Buffer.alloc(4);
  let crc = 0xffffffff;
  for (const byte of body) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  tail.writeUInt32BE((crc ^ 0xffffffff) >>> 0);
  return Buffer.concat([head, body, tail]);
}

/** A second of a tone. */
export function wav(): Buffer {
  const samples = Buffer.alloc(8_000);
  for (let at = 0; at < samples.length; at += 1) samples[at] = 128 + Math.round(60 * Math.sin(at / 4));
  const head = Buffer.alloc(44);
  head.write('RIFF', 0);
  head.writeUInt32LE(36 + samples.length, 4);
  head.write('WAVEfmt ', 8);
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(8_000, 24);
  head.writeUInt32LE(8_000, 28);
  head.writeUInt16LE(1, 32);
  head.writeUInt16LE(8, 34);
  head.write('data', 36);
  head.writeUInt32LE(samples.length, 40);
  return Buffer.concat([head, samples]);
}

export const manifestOf = (paths: Readonly<Record<string, string>>, indexPath: string): Buffer =>
  buildManifest({ paths: new Map(Object.entries(paths)), indexPath });

/** A page that tries to leave its frame, to read its surroundings and to be the top. */
export const hostilePage = `<!doctype html><title>x</title><h1 id="here">a stored page</h1><script>
try { top.location = 'https://example.invalid/stolen'; } catch (e) {}
try { parent.document.title = 'stolen'; } catch (e) {}
try { localStorage.setItem('a', 'b'); } catch (e) { document.body.dataset.storage = 'none'; }
</script><a href="javascript:alert(1)">x</a>`;

export const hostileSvg =
  '<svg xmlns="http://www.w3.org/2000/svg" width="60" height="40" onload="parent.document.title=\'stolen\'"><script>top.document.title="stolen"</script><rect width="60" height="40" fill="teal"/></svg>';

export const hostileTags: readonly Tag[] = [
  { name: 'File-Name', value: 'harmless‮gpj.exe' },
  { name: '<img src=x onerror=alert(1)>', value: 'javascript:alert(document.domain)' },
  { name: '__proto__', value: '"><script>top.document.title="stolen"</script>' },
  { name: 'Long', value: 'w'.repeat(2_000) },
  { name: 'Lines', value: 'a\n\n\n\n\n\n\n\n\n\nb' },
];

/** One empty page. */
export const minimalPdf = `%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/MediaBox[0 0 200 200]/Parent 2 0 R>>endobj
trailer<</Root 1 0 R>>
%%EOF`;
