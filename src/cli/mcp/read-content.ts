/** A part of stored content through a gateway: bounded, as text where it is text. */
import { StartupError } from '../../kernel/errors.ts';
import { placeOf } from '../../outside/answer-head.ts';
import { HttpClient } from '../../outside/http.ts';

export interface ReadRequest {
  readonly id: string;
  /** Within a manifest. */
  readonly path: string | undefined;
  readonly offset: number;
  readonly maxBytes: number;
}

export interface ReadPart {
  readonly contentType: string;
  /** Of the whole content, where the gateway says it. */
  readonly size: number | null;
  readonly offset: number;
  readonly bytes: number;
  readonly text?: string;
  readonly base64?: string;
}

const timeoutMs = 60_000;
const isTextType =
  /^(?:text\/|application\/(?:json|.*\+json|xml|.*\+xml|javascript|x-javascript|yaml|toml)|image\/svg\+xml)/;

export async function readContent(
  gateway: string,
  { id, path, offset, maxBytes }: ReadRequest,
): Promise<ReadPart> {
  const http = new HttpClient({ timeoutMs, maxBytes });
  try {
    const address = path === undefined ? `${gateway}/raw/${id}` : `${gateway}/${id}/${escaped(path)}`;
    const headers = { range: `bytes=${offset}-${offset + maxBytes - 1}` };
    const answer = await http.open(address, { headers, timeoutMs, idleTimeoutMs: timeoutMs });
    if (answer.status === 416) throw new StartupError('the content ends before that offset');
    if (answer.status !== 200 && answer.status !== 206) {
      throw new StartupError(`the gateway does not have it: status ${answer.status}`);
    }
    // A gateway that sends all of it sends it from the first byte.
    const skip = answer.status === 206 ? 0 : offset;
    const bytes = await firstBytes(answer.body, skip, maxBytes);
    const contentType = String(answer.headers['content-type'] ?? 'application/octet-stream');
    const text = isTextType.test(contentType) ? textOf(bytes) : undefined;
    return {
      contentType,
      size: placeOf(answer)?.size ?? null,
      offset,
      bytes: bytes.length,
      ...(text === undefined ? { base64: bytes.toString('base64') } : { text }),
    };
  } catch (error) {
    if (error instanceof StartupError) throw error;
    throw new StartupError(`the gateway at ${gateway} does not answer`, { cause: error });
  } finally {
    await http.close();
  }
}

function escaped(path: string): string {
  const parts = path.split('/').filter((part) => part !== '');
  if (parts.some((part) => part === '.' || part === '..')) throw new StartupError('a path has no . or ..');
  return parts.map(encodeURIComponent).join('/');
}

async function firstBytes(body: AsyncIterable<Buffer>, skip: number, most: number): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let passed = 0;
  let kept = 0;
  for await (const piece of body) {
    const from = Math.max(0, skip - passed);
    passed += piece.length;
    const part = piece.subarray(from, from + most - kept);
    pieces.push(part);
    kept += part.length;
    if (kept >= most) break;
  }
  return Buffer.concat(pieces);
}

/** Undefined where it is no text; a letter that the end cuts is left out. */
function textOf(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true });
  } catch {
    return undefined;
  }
}
