/** Knows a file again that the person chooses a second time, without reading all of it. */
import { encodeBase64url } from '../../../services/encoding.ts';

const endBytes = 64 * 1024;

/** SHA-256 of size, head and tail. */
export async function fingerprintOf(file: Blob): Promise<string> {
  const ends = new Blob([
    String(file.size),
    file.slice(0, endBytes),
    file.slice(Math.max(0, file.size - endBytes)),
  ]);
  return encodeBase64url(new Uint8Array(await crypto.subtle.digest('SHA-256', await ends.arrayBuffer())));
}

/** False for a file that was changed, moved or deleted since it was chosen. */
export async function isReadable(file: Blob): Promise<boolean> {
  try {
    await file.slice(0, 1).arrayBuffer();
    return true;
  } catch {
    return false;
  }
}
