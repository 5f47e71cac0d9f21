/** Posts a file over a bare socket from two buffers in turn, so that the client costs next to nothing. */
import { open } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';

/** Answers the status. */
export async function postFile(url: string, path: string): Promise<number> {
  const { hostname, port, pathname } = new URL(url);
  const socket = connect(Number(port), hostname);
  const file = await open(path);
  try {
    const { size } = await file.stat();
    const status = firstLine(socket);
    socket.write(`POST ${pathname} HTTP/1.1\r\nhost: ${hostname}\r\ncontent-length: ${size}\r\n\r\n`);
    const buffers = [Buffer.allocUnsafe(2 ** 20), Buffer.allocUnsafe(2 ** 20)];
    const sent: Promise<void>[] = [];
    for (let turn = 0; ; turn++) {
      const buffer = buffers[turn % 2]!;
      await sent[turn - 2];
      const { bytesRead } = await file.read(buffer, 0, buffer.length);
      if (bytesRead === 0) break;
      sent.push(written(socket, buffer.subarray(0, bytesRead)));
    }
    return await status;
  } finally {
    socket.destroy();
    await file.close();
  }
}

function written(socket: Socket, bytes: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.write(bytes, (error) => (error ? reject(error) : resolve()));
  });
}

function firstLine(socket: Socket): Promise<number> {
  return new Promise((resolve, reject) => {
    socket.once('data', (head: Buffer) => resolve(Number(head.toString('latin1', 9, 12))));
    socket.once('error', reject);
  });
}
