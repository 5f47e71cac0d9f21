/** Has files hashed by the worker. One at a time: a file is read as fast as the disk gives it. */
import { workerUrl } from '../app/trusted.ts';
import type { SignedFields } from './item-message.ts';
import type { HashAnswer, HashRequest } from './worker.ts';

/** The file cannot be read (any more): it was changed, moved or deleted since it was chosen. */
export class UnreadableFile extends Error {
  override readonly name = 'UnreadableFile';
}

let idle: Worker | undefined;

/** The 48 bytes that an item of this file and these fields has signed. */
export function hashInWorker(
  fields: SignedFields,
  file: Blob,
  { onRead, signal }: { readonly onRead?: (bytes: number) => void; readonly signal?: AbortSignal } = {},
): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const worker = idle ?? new Worker(workerUrl('items'), { type: 'module' });
    idle = undefined;
    const end = (isReusable: boolean): void => {
      worker.onmessage = null;
      worker.onerror = null;
      signal?.removeEventListener('abort', abort);
      if (isReusable && idle === undefined) idle = worker;
      else worker.terminate();
    };
    const abort = (): void => {
      end(false);
      reject(signal?.reason);
    };
    signal?.addEventListener('abort', abort);
    worker.onmessage = ({ data }: MessageEvent<HashAnswer>) => {
      if ('readBytes' in data) {
        onRead?.(data.readBytes);
        return;
      }
      end(true);
      if ('message' in data) resolve(data.message);
      else reject(new UnreadableFile(data.failure));
    };
    worker.onerror = () => {
      end(false);
      reject(new Error('the worker of the page could not be started'));
    };
    worker.postMessage({ fields, file } satisfies HashRequest);
  });
}
