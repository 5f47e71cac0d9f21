import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { get, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Metrics } from '../metrics.ts';
import { testServer } from '../testing.ts';
import { sendBuffer, sendFile, takeOver } from './send-bytes.ts';
import type { HttpServer } from './server.ts';

const KiB = 1024;
const MiB = 1024 * KiB;
const size = 5 * MiB + 12_345;

/** Bytes that differ everywhere, so that a piece out of place is seen. */
function pattern(length: number): Buffer {
  const bytes = Buffer.alloc(length);
  for (let at = 0; at + 4 <= length; at += 4) bytes.writeUInt32LE((at * 2_654_435_761) % 2 ** 32, at);
  return bytes;
}

describe('bytes on their way out', { timeout: 300_000 }, () => {
  const content = pattern(size);
  const outcomes: (number | Error)[] = [];
  const metrics = new Metrics();
  let folder: string;
  let path: string;
  let fd: number;
  let server: HttpServer;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'turnpike-send-'));
    path = join(folder, 'blob');
    await writeFile(path, content);
    fd = openSync(path, 'r');
    server = testServer({ metrics });
    server.app.get('/file/:start/:end', async (request, reply) => {
      const { start, end } = Object.assign({ start: '', end: '' }, request.params);
      const length = Number(end) - Number(start);
      const raw = takeOver(reply.header('x-set-before', 'yes'), 206, { 'content-length': length });
      const impatient = request.url.endsWith('?impatient');
      const check = () => {
        if (request.url.endsWith('?changed')) throw new Error('the file was changed');
      };
      const options = impatient ? { stallTimeoutMs: 200 } : { check };
      const sent = sendFile(raw, fd, Number(start), Number(end), options);
      outcomes.push(await sent.catch((error: Error) => error));
    });
    server.app.get('/buffer', async (_request, reply) => {
      const raw = takeOver(reply, 200, { 'content-length': content.length });
      outcomes.push(await sendBuffer(raw, content));
    });
    await server.listen();
  });
  after(async () => {
    await server.close();
    closeSync(fd);
    await rm(folder, { recursive: true, force: true });
  });

  async function fetchBytes(start: number, end: number): Promise<Buffer> {
    const answer = await fetch(`${server.url}/file/${start}/${end}`);
    assert.equal(answer.headers.get('content-length'), String(end - start));
    return Buffer.from(await answer.arrayBuffer());
  }

  async function outcome(): Promise<number | Error> {
    while (outcomes.length === 0) await sleep(2);
    return outcomes.shift() ?? Number.NaN;
  }

  test('of a file that was changed meanwhile do not look complete', async () => {
    for (const end of [1, 600 * KiB, 2_000 * KiB]) {
      await assert.rejects(fetch(`${server.url}/file/0/${end}?changed`).then((answer) => answer.bytes()));
      assert.match(String(await outcome()), /the file was changed/);
    }
  });

  test('arrive exactly, whatever the length and the place', async () => {
    const edges = [
      0,
      1,
      16 * KiB,
      16 * KiB + 1,
      256 * KiB,
      256 * KiB + 1,
      MiB,
      MiB + 1,
      2 * MiB,
      4 * MiB + 7,
    ];
    for (const length of edges) {
      for (const start of [0, 1, 333_333]) {
        const got = await fetchBytes(start, start + length);
        assert.ok(got.equals(content.subarray(start, start + length)), `${length} from ${start}`);
        assert.equal(await outcome(), length);
      }
    }
    const all = await fetchBytes(0, size);
    assert.equal(hash('sha256', all), hash('sha256', content));
    assert.equal(await outcome(), size);
  });

  test('carry the headers of the kernel and of the route', async () => {
    const answer = await fetch(`${server.url}/file/0/10`);
    assert.equal(answer.status, 206);
    assert.equal(answer.headers.get('x-set-before'), 'yes');
    assert.equal(answer.headers.get('access-control-allow-origin'), '*');
    assert.ok(answer.headers.get('x-request-id'));
    await answer.arrayBuffer();
    assert.equal(await outcome(), 10);
  });

  test('can come from memory', async () => {
    const answer = await fetch(`${server.url}/buffer`);
    assert.ok(Buffer.from(await answer.arrayBuffer()).equals(content));
    assert.equal(await outcome(), content.length);
  });

  test('work for requests made in process', async () => {
    const answer = await server.app.inject('/file/5/300000');
    assert.ok(answer.rawPayload.equals(content.subarray(5, 300_000)));
    assert.equal(await outcome(), 299_995);
  });

  test('stay apart when many are sent at once from the same buffers', async () => {
    const ranges = Array.from({ length: 60 }, (_, index) => {
      const start = index * 7_919;
      return [start, start + [900, 200_000, 900_000, 3_000_000][index % 4]!] as const;
    });
    await Promise.all(
      ranges.map(async ([start, end]) => {
        assert.ok((await fetchBytes(start, end)).equals(content.subarray(start, end)), `${start}-${end}`);
      }),
    );
    for (const _ of ranges) await outcome();
  });

  test('stop when the client leaves, and say how far they came', async () => {
    const request = get(`${server.url}/file/0/${size}`);
    request.on('error', () => {});
    const [answer]: IncomingMessage[] = await once(request, 'response');
    answer?.on('error', () => {});
    request.destroy();
    const sent = await outcome();
    assert.ok(typeof sent === 'number' && sent < size, String(sent));
    while (metrics.requests.inFlight > 0) await sleep(2);
    assert.match(await metrics.text(), /_count\{route="\/file\/:start\/:end",method="GET",status="499"\} \d/);
  });

  test('are read no faster than the client takes them, and a client that stops is cut off', async () => {
    const socket = connect(server.port, '127.0.0.1');
    socket.on('error', () => {});
    socket.write(`GET /file/0/${size}?impatient HTTP/1.1\r\nhost: x\r\n\r\n`);
    socket.pause();
    const sent = await outcome();
    assert.ok(typeof sent === 'number' && sent < size, String(sent));
    socket.destroy();
  });

  test('a slow client that keeps taking is served to the end', async () => {
    const socket = connect(server.port, '127.0.0.1');
    let taken = 0;
    socket.on('data', (chunk) => {
      taken += chunk.length;
      socket.pause();
      setTimeout(() => socket.resume(), 1);
    });
    socket.write(`GET /file/0/${3 * MiB} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`);
    await once(socket, 'close');
    assert.ok(taken > 3 * MiB);
    assert.equal(await outcome(), 3 * MiB);
  });

  test('a file that ends early cuts the connection: no short body looks complete', async () => {
    const short = join(folder, 'short');
    await writeFile(short, content);
    await truncate(short, MiB + 5);
    const kept = fd;
    fd = openSync(short, 'r');
    try {
      for (const end of [MiB + 6, 3 * MiB]) {
        await assert.rejects(fetchBytes(MiB - 10, end));
        const failure = await outcome();
        assert.ok(
          failure instanceof Error && /the file ends \d+ bytes early/.test(failure.message),
          String(failure),
        );
      }
    } finally {
      closeSync(fd);
      fd = kept;
    }
  });

  test('a file that cannot be read cuts the connection', async () => {
    const kept = fd;
    fd = openSync(folder, 'r');
    try {
      await assert.rejects(fetchBytes(0, 100));
      const failure = await outcome();
      assert.ok(failure instanceof Error && 'code' in failure && failure.code === 'EISDIR', String(failure));
    } finally {
      closeSync(fd);
      fd = kept;
    }
  });
});
