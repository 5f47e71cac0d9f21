/**
 * A server that speaks as much of PostgreSQL's protocol as the choice between a primary and its standbys needs, and says of
 * itself what a test has it say. What a real cluster does is tested in `test/servers/postgres-cluster.test.ts`.
 */
import assert from 'node:assert/strict';
import { createServer, type Server, type Socket } from 'node:net';
import type { TestContext } from 'node:test';

/** Object ids of types, from the catalogue pg_type. */
const oid = { bool: 16, int4: 23, text: 25 };
type Cell = string | number | boolean | null;

export class ScriptedPostgres {
  url = '';
  isStandby = false;
  timeline = '00000001';
  system = 'one';
  started = 'today';
  /** Bytes of the log. */
  written = 100n;
  replayed: bigint | null = 100n;
  /** Whether it takes questions and says nothing. */
  isSilent = false;
  /** The number that it says a connection has; another than its own is what a pooler shows. */
  pid = 7;
  /** Parts of questions at which the connection breaks before the answer, each once and in this order. */
  breaksAt: string[] = [];
  /** What became of a transaction, or the code of an error. */
  outcome: string = 'committed';
  /** Code of the error that it answers a question about itself with. */
  refusal: string | undefined;
  /** What was asked. */
  readonly asked: string[] = [];
  /** Names under which statements were prepared. */
  readonly named: string[] = [];
  readonly #sockets = new Set<Socket>();
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((socket) => this.#serve(socket));
  }

  static async start(t: TestContext, says: Partial<ScriptedPostgres> = {}): Promise<ScriptedPostgres> {
    const made = Object.assign(new ScriptedPostgres(), says);
    await new Promise<void>((resolve) => made.#server.listen(0, '127.0.0.1', resolve));
    const place = made.#server.address();
    assert.ok(place !== null && typeof place === 'object');
    made.url = `postgres://user:secret@127.0.0.1:${place.port}/facts`;
    t.after(() => made.stop());
    return made;
  }

  /** Breaks every connection and takes no more. */
  stop(): void {
    this.#server.close();
    this.cut();
  }

  get connections(): number {
    return this.#sockets.size;
  }

  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  #serve(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('close', () => this.#sockets.delete(socket));
    socket.on('error', () => {});
    let bytes: Buffer = Buffer.alloc(0);
    let hasStarted = false;
    const prepared = new Map<string, string>();
    let bound = '';
    socket.on('data', (part) => {
      bytes = Buffer.concat([bytes, part]);
      for (;;) {
        const head = hasStarted ? 1 : 0;
        if (bytes.length < head + 4) return;
        const length = head + bytes.readUInt32BE(head);
        if (bytes.length < length) return;
        const message = bytes.subarray(0, length);
        bytes = bytes.subarray(length);
        if (!hasStarted) {
          hasStarted = true;
          socket.write(Buffer.concat([packet('R', int32(0)), packet('K', int32(7), int32(7)), ready]));
          continue;
        }
        const kind = String.fromCharCode(message[0] ?? 0);
        const [first = '', second = ''] = message.toString('utf8', 5).split('\0');
        if (kind === 'Q') this.#answer(socket, first);
        else if (kind === 'P') {
          prepared.set(first, second);
          if (first !== '') this.named.push(first);
        } else if (kind === 'B') bound = prepared.get(second) ?? '';
        else if (kind === 'S') this.#answer(socket, bound, packet('1'), packet('2'));
      }
    });
  }

  #answer(socket: Socket, text: string, ...before: Buffer[]): void {
    this.asked.push(text);
    const [breaking] = this.breaksAt;
    if (breaking !== undefined && text.includes(breaking)) {
      this.breaksAt.shift();
      socket.destroy();
    } else if (!this.isSilent) socket.write(Buffer.concat([...before, this.#reply(text), ready]));
  }

  #reply(text: string): Buffer {
    if (text.startsWith('BEGIN')) return Buffer.concat([packet('C', zeroed('BEGIN')), rows({ xid: '1234' })]);
    if (text.startsWith('UPDATE')) return packet('C', zeroed('UPDATE 3'));
    if (!text.startsWith('SELECT')) return packet('C', zeroed(/^\w+/.exec(text)?.[0] ?? ''));
    const { isStandby, timeline, system, started, written, replayed, outcome, pid } = this;
    if (text.includes('pg_backend_pid()')) {
      const own = { pid, standby: isStandby, timeout: '0', role: 'user' };
      if (!text.includes('system_identifier')) return rows(own);
      if (this.refusal !== undefined) return refusal(this.refusal);
      return rows({ ...own, timeline: isStandby ? null : timeline, system, started });
    }
    if (text.includes('pg_xact_status'))
      return /^[0-9]{5}$/.test(outcome)
        ? refusal(outcome)
        : rows({ status: outcome, ...(text.includes('AS timeline') && { timeline }) });
    if (text.includes('AS broken')) return refusal('22012');
    if (text.includes('AS written')) return rows({ written: String(written), timeline });
    if (text.includes('AS replayed'))
      return rows({ standby: isStandby, replayed: replayed === null ? null : String(replayed) });
    return rows({ one: 1 });
  }
}

const int16 = (value: number): Buffer => {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
};
const int32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
};
const zeroed = (text: string): Buffer => Buffer.from(`${text}\0`);

function packet(kind: string, ...parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  return Buffer.concat([Buffer.from(kind), int32(body.length + 4), body]);
}

const ready = packet('Z', Buffer.from('I'));
const refusal = (code: string): Buffer =>
  packet('E', zeroed('SERROR'), zeroed(`C${code}`), zeroed('Mno'), Buffer.alloc(1));

/** One row. */
function rows(row: Readonly<Record<string, Cell>>): Buffer {
  const cells = Object.entries(row);
  const columns = cells.map(([name, value]) =>
    Buffer.concat([zeroed(name), int32(0), int16(0), int32(typeOf(value)), int16(-1), int32(-1), int16(0)]),
  );
  const values = cells.map(([, value]) => {
    if (value === null) return int32(-1);
    const text = Buffer.from(value === true ? 't' : value === false ? 'f' : String(value));
    return Buffer.concat([int32(text.length), text]);
  });
  const count = int16(cells.length);
  return Buffer.concat([
    packet('T', count, ...columns),
    packet('D', count, ...values),
    packet('C', zeroed('SELECT 1')),
  ]);
}

function typeOf(value: Cell): number {
  if (typeof value === 'boolean') return oid.bool;
  return typeof value === 'number' ? oid.int4 : oid.text;
}
