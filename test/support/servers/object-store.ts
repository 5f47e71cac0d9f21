/** A real object store of a test's own, which speaks S3. */
import { connect } from 'node:net';
import { parseS3Url } from '../../../src/storage/blobs/s3/address.ts';
import { S3Client } from '../../../src/storage/blobs/s3/client.ts';

export interface ObjectStore {
  /** `s3://key:secret@127.0.0.1:port/bucket`, with a bucket that is there. */
  readonly url: string;
  /** Kills what answers requests; what is stored stays. */
  kill(): Promise<void>;
  /** Starts it again. */
  start(): Promise<void>;
  pause(): void;
  resume(): void;
  /** Ends everything and removes it. */
  stop(): Promise<void>;
}

export async function createBucket(url: string): Promise<void> {
  const client = new S3Client(parseS3Url(url));
  try {
    await client.tell({ method: 'PUT', key: '' });
  } finally {
    await client.close();
  }
}

/** Whether somebody listens there. */
export function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
