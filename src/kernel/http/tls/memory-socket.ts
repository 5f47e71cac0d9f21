/**
 * Two ends of a connection that never leaves this process: what one end writes the other reads, with back-pressure, an
 * end and a cut. The server's end says where the client really is, as a socket of the system does.
 */
import { Duplex } from 'node:stream';

export interface Peer {
  readonly remoteAddress: string | undefined;
  readonly remotePort: number | undefined;
  readonly localAddress: string | undefined;
  readonly localPort: number | undefined;
}

type Done = (error?: Error | null) => void;

export class MemorySocket extends Duplex {
  /** Read by what tells `https` from `http`. */
  readonly encrypted = true;
  readonly remoteAddress: string | undefined;
  readonly remotePort: number | undefined;
  readonly localAddress: string | undefined;
  readonly localPort: number | undefined;
  #other: MemorySocket | undefined;
  /** Our write that waits until the other end has room. */
  #waiting: Done | undefined;
  #timeoutMs = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(peer: Peer) {
    super();
    this.remoteAddress = peer.remoteAddress;
    this.remotePort = peer.remotePort;
    this.localAddress = peer.localAddress;
    this.localPort = peer.localPort;
  }

  static pair(peer: Peer): { client: MemorySocket; server: MemorySocket } {
    const client = new MemorySocket(peer);
    const server = new MemorySocket(peer);
    client.#other = server;
    server.#other = client;
    return { client, server };
  }

  override _read(): void {
    const other = this.#other;
    if (other !== undefined) other.#goOn();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: Done): void {
    const other = this.#other;
    if (other === undefined || other.destroyed) {
      done(gone());
      return;
    }
    this.#active();
    if (other.push(chunk)) done();
    else this.#waiting = done;
  }

  override _final(done: Done): void {
    if (this.#other?.destroyed === false) this.#other.push(null);
    done();
  }

  override _destroy(error: Error | null, done: Done): void {
    clearTimeout(this.#timer);
    this.#waiting = undefined;
    const other = this.#other;
    this.#other = undefined;
    if (other !== undefined && !other.destroyed) {
      if (!this.writableFinished) other.push(null);
      other.#cut();
    }
    done(error);
  }

  /** `timeout` is emitted when nothing has moved for so long; 0 for never. As of `net.Socket`. */
  setTimeout(milliseconds: number, listener?: () => void): this {
    this.#timeoutMs = milliseconds;
    if (listener !== undefined) {
      if (milliseconds === 0) this.off('timeout', listener);
      else this.once('timeout', listener);
    }
    this.#active();
    return this;
  }

  /** Ends, and is destroyed once all is written. As of `net.Socket`. */
  destroySoon(): void {
    if (this.writable) this.end();
    if (this.writableFinished) this.destroy();
    else this.once('finish', () => this.destroy());
  }

  setKeepAlive(): this {
    return this;
  }

  setNoDelay(): this {
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  #goOn(): void {
    const done = this.#waiting;
    if (done === undefined) return;
    this.#waiting = undefined;
    this.#active();
    done();
  }

  /** The other end is gone: nobody reads what waits here. */
  #cut(): void {
    const done = this.#waiting;
    this.#waiting = undefined;
    done?.(gone());
  }

  #active(): void {
    clearTimeout(this.#timer);
    if (this.#timeoutMs > 0 && !this.destroyed) {
      this.#timer = setTimeout(() => this.emit('timeout'), this.#timeoutMs).unref();
    }
  }
}

const gone = (): Error => Object.assign(new Error('the other end is gone'), { code: 'EPIPE' });
