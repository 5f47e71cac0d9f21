/**
 * Requests as they stand on the wire, one after the other on connections that are kept: clients would tidy the target up, and a
 * connection for each costs more than the answer.
 */
import { connect, type Socket } from 'node:net';

export interface RawRequest {
  /** Name and port. */
  readonly host: string;
  /** Where it comes from. */
  readonly localAddress: string;
  readonly method: string;
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface RawAnswer {
  /** 0 where the connection ended without one. */
  readonly status: number;
  readonly body: string;
}

const waitMs = 60_000;

export class RawClient {
  readonly #idle = new Map<string, Socket[]>();

  async ask(request: RawRequest): Promise<RawAnswer> {
    const way = `${request.host} ${request.localAddress}`;
    const kept = this.#idle.get(way)?.pop();
    const answer = kept === undefined ? undefined : await this.#send(kept, way, request);
    // It may have been closed while it was kept.
    if (answer !== undefined && answer.status !== 0) return answer;
    const { hostname, port } = new URL(`http://${request.host}`);
    const socket = connect({ port: Number(port), host: hostname, localAddress: request.localAddress });
    return this.#send(socket, way, request);
  }

  close(): void {
    for (const sockets of this.#idle.values()) for (const socket of sockets) socket.destroy();
    this.#idle.clear();
  }

  #send(socket: Socket, way: string, { method, target, headers, body }: RawRequest): Promise<RawAnswer> {
    return new Promise((resolve, reject) => {
      let got = '';
      const end = (answer: RawAnswer) => {
        socket.removeAllListeners();
        socket.on('error', () => {});
        resolve(answer);
      };
      socket.setTimeout(waitMs, () => socket.destroy(new Error(`no answer to ${method} ${target}`)));
      socket.on('data', (piece: Buffer) => {
        got += piece.toString('latin1');
        const whole = wholeAnswer(got, method);
        if (whole === undefined) return;
        end(whole);
        if (/^connection: close\r$/im.test(got.slice(0, got.indexOf('\r\n\r\n') + 2))) socket.destroy();
        else this.#idle.set(way, [...(this.#idle.get(way) ?? []), socket]);
      });
      socket.on('error', (error: NodeJS.ErrnoException) => {
        // A refusal may close the connection while the body is still on its way.
        if (got === '' && error.code !== 'EPIPE' && error.code !== 'ECONNRESET') reject(error);
      });
      socket.on('close', () => end({ status: statusOf(got), body: got.slice(got.indexOf('\r\n\r\n') + 4) }));
      const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
      socket.write(`${method} ${target} HTTP/1.1\r\n${lines.join('')}\r\n${body}`);
    });
  }
}

const statusOf = (text: string): number => Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0);

/** Undefined while more is to come, also where only the end of the connection tells that nothing is. */
function wholeAnswer(text: string, method: string): RawAnswer | undefined {
  const at = text.indexOf('\r\n\r\n');
  if (at === -1) return undefined;
  const [head, body] = [text.slice(0, at + 2), text.slice(at + 4)];
  const status = statusOf(text);
  if (method === 'HEAD' || status === 204 || status === 304) return { status, body: '' };
  const length = /^content-length: (\d+)\r$/im.exec(head)?.[1];
  const isWhole = length === undefined ? isLastChunk(head, body) : body.length >= Number(length);
  return isWhole ? { status, body } : undefined;
}

const isLastChunk = (head: string, body: string): boolean =>
  /^transfer-encoding: chunked\r$/im.test(head) && /(^|\r\n)0\r\n\r\n$/.test(body);
