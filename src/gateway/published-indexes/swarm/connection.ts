/** One connection to a peer, either way round: framing, time limits, and a bound on what waits to be sent. */
import type { Socket } from 'node:net';
import { FormatError } from '../../../formats/format-error.ts';
import { type Handshake, keepAlive, type PeerMessage, PeerReader } from '../../../formats/torrent/index.ts';

export interface ConnectionEvents {
  greeted(handshake: Handshake): void;
  message(message: PeerMessage): void;
  closed(): void;
}

/** A peer that says nothing for this long is gone. */
const idleMs = 120_000;
const greetMs = 10_000;
const keepAliveMs = 50_000;
/** A peer that takes nothing while so much waits for it is gone too. */
const maxUnsent = 4 * 1024 * 1024;

export class PeerConnection {
  readonly #socket: Socket;
  readonly #events: ConnectionEvents;
  readonly #reader = new PeerReader();
  readonly #greeting: NodeJS.Timeout;
  readonly #living: NodeJS.Timeout;
  #closed = false;
  #greeted = false;

  constructor(socket: Socket, events: ConnectionEvents) {
    this.#socket = socket;
    this.#events = events;
    this.#greeting = setTimeout(() => this.close(), greetMs);
    this.#living = setInterval(() => this.send(keepAlive), keepAliveMs);
    socket.setNoDelay(true);
    socket.setTimeout(idleMs, () => this.close());
    socket.on('error', () => this.close());
    socket.on('close', () => this.close());
    socket.on('data', (bytes) => this.#read(Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes)));
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** False when the peer is slow to take it: wait for `drained` before more. */
  send(bytes: Buffer): boolean {
    if (this.#closed) return true;
    if (this.#socket.writableLength > maxUnsent) {
      this.close();
      return true;
    }
    return this.#socket.write(bytes);
  }

  /** Resolves when what was sent is out, or the connection is closed. */
  drained(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#closed || !this.#socket.writableNeedDrain) return resolve();
      const done = () => {
        this.#socket.off('drain', done).off('close', done);
        resolve();
      };
      this.#socket.on('drain', done).on('close', done);
    });
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    clearTimeout(this.#greeting);
    clearInterval(this.#living);
    this.#socket.destroy();
    this.#events.closed();
  }

  #read(bytes: Buffer): void {
    try {
      for (const found of this.#reader.push(bytes)) {
        if (this.#closed) return;
        if ('kind' in found) this.#events.message(found);
        else {
          clearTimeout(this.#greeting);
          this.#greeted = true;
          this.#events.greeted(found);
        }
      }
    } catch (error) {
      if (!(error instanceof FormatError)) throw error;
      this.close();
    }
  }

  get greeted(): boolean {
    return this.#greeted;
  }
}
