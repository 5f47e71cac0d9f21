/** The program of the worker that hashes files: one request at a time, each answered by how far it is, then by the end. */
import { hashItem, type SignedFields } from './item-message.ts';

export interface HashRequest {
  readonly fields: SignedFields;
  readonly file: Blob;
}

export type HashAnswer =
  | { readonly readBytes: number }
  | { readonly message: Uint8Array }
  | { readonly failure: string };

const answer = (value: HashAnswer): void => postMessage(value);

addEventListener('message', ({ data }: MessageEvent<HashRequest>) => {
  hashItem(data.fields, data.file, { onRead: (readBytes) => answer({ readBytes }) }).then(
    (message) => answer({ message }),
    (error: unknown) => answer({ failure: error instanceof Error ? error.name : 'Error' }),
  );
});
