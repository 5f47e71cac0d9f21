/** Reads as a client that takes nothing for complete that was cut. */
import { type Agent, type IncomingHttpHeaders, request } from 'node:http';

export interface StrictRead {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** False where the connection ended before the body did. */
  readonly complete: boolean;
}

export interface StrictOptions {
  readonly host?: string;
  readonly method?: 'GET' | 'HEAD';
  readonly headers?: Readonly<Record<string, string>>;
  readonly agent?: Agent;
  /** Told once the head is there, with a way to read slowly. */
  readonly onHead?: (pause: () => void, resume: () => void) => void;
}

/** A connection that breaks before there is a head has the status 0; one that is refused throws. */
export function readStrictly(url: string, options: StrictOptions = {}): Promise<StrictRead> {
  const headers = { ...options.headers, ...(options.host === undefined ? {} : { host: options.host }) };
  return new Promise((resolve, reject) => {
    const asked = request(url, {
      method: options.method ?? 'GET',
      headers,
      ...(options.agent === undefined ? {} : { agent: options.agent }),
    });
    asked.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'ECONNRESET') reject(error);
      else resolve({ status: 0, headers: {}, body: Buffer.alloc(0), complete: false });
    });
    asked.on('response', (response) => {
      const pieces: Buffer[] = [];
      const done = (): void =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          body: Buffer.concat(pieces),
          complete: response.complete,
        });
      response.on('data', (piece: Buffer) => pieces.push(piece));
      response.on('close', done);
      response.on('error', () => {});
      options.onHead?.(
        () => response.pause(),
        () => response.resume(),
      );
    });
    asked.end();
  });
}
