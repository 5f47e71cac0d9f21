/**
 * Ports that outlive the servers behind them. A local network whose state is changed as a whole stops and starts again
 * in its process; its ports stay open meanwhile. Who asks then waits for the next server of the port, kept-alive
 * connections stay, and no other program can take a port. In production no port is held, and nothing of this is in the
 * way of a request.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { PatientServer } from './patient-server.ts';

/** Requests that wait for the next server of a port at one time, and how long each may. */
const maxWaiting = 1_000;
const maxWaitMs = 30_000;

/** Who answers a request: another server, the one of another held port, or the port's own for undefined. */
export type ChooseServer = (request: IncomingMessage) => Server | { readonly port: string } | undefined;

let active: HeldPorts | undefined;

/** From here on the servers of this thread are put behind held ports. */
export function holdPorts(): HeldPorts {
  active ??= new HeldPorts(() => {
    active = undefined;
  });
  return active;
}

/**
 * The server listens, or is put behind a held port, which is the answer then. `name` is the same for every server that
 * follows another on the port.
 */
export async function openPort(
  name: string,
  server: PatientServer,
  host: string,
  port: number,
): Promise<HeldPort | undefined> {
  if (active !== undefined) return await active.attach(name, server, host, port);
  await server.listenAt(host, port);
  return undefined;
}

export class HeldPorts {
  readonly #ports = new Map<string, HeldPort>();
  readonly #choosers = new Map<string, ChooseServer>();
  readonly #released: () => void;
  /** No server follows: a port closes with the server behind it. */
  ending = false;

  constructor(released: () => void) {
    this.#released = released;
  }

  /** Puts the server behind the port of this name, which is opened by the first. */
  async attach(name: string, server: PatientServer, host: string, port: number): Promise<HeldPort> {
    const held = this.#ports.get(name) ?? new HeldPort(this, server, this.#choosers.get(name));
    if (!this.#ports.has(name)) {
      await held.front.listenAt(host, port);
      this.#ports.set(name, held);
    }
    held.attach(server);
    return held;
  }

  /** Who answers what at the port of this name, now and after every change. Told before the port is opened. */
  choose(name: string, chooser: ChooseServer): void {
    this.#choosers.set(name, chooser);
  }

  /** The held port of this name; undefined while none is open. */
  get(name: string): HeldPort | undefined {
    return this.#ports.get(name);
  }

  /** Closes every port, and cuts what is left. */
  async close(): Promise<void> {
    this.ending = true;
    await Promise.all([...this.#ports.values()].map((port) => port.close()));
    this.#ports.clear();
    this.#released();
  }
}

export class HeldPort {
  readonly front: PatientServer;
  readonly #ports: HeldPorts;
  readonly #choose: ChooseServer | undefined;
  /** Answers that are not out yet, by the server that they come from. */
  readonly #open = new Map<Server, Set<ServerResponse>>();
  readonly #waiting = new Set<() => void>();
  #current: PatientServer | undefined;
  #closed: Promise<void> | undefined;

  constructor(ports: HeldPorts, first: PatientServer, choose: ChooseServer | undefined) {
    this.#ports = ports;
    this.#choose = choose;
    this.front = new PatientServer(first.options, (request, response) => this.#request(request, response));
    this.front.on('clientError', (error, socket) => {
      if (this.#current?.emit('clientError', error, socket) !== true) socket.destroy();
    });
  }

  get isEnding(): boolean {
    return this.#ports.ending;
  }

  attach(server: PatientServer): void {
    this.#current = server;
    server.front = this.front;
    // Where nobody listens for it, a request that offers another protocol is a plain request.
    if (server.listenerCount('upgrade') > 0 && this.front.listenerCount('upgrade') === 0) {
      this.front.on('upgrade', (request, stream, head) => this.#upgrade(request, stream, head));
    }
    for (const go of this.#waiting) go();
    this.#waiting.clear();
  }

  /** What comes from now on waits for the next server. */
  detach(server: Server): void {
    if (this.#current === server) this.#current = undefined;
  }

  /** Ends what this server has not answered yet. */
  cut(server: Server): void {
    for (const response of this.#open.get(server) ?? []) response.destroy();
    this.#open.delete(server);
  }

  close(): Promise<void> {
    this.#closed ??= new Promise<void>((resolve) => {
      if (this.front.listening) this.front.close(() => resolve());
      else resolve();
      this.#waiting.clear();
      this.front.cutAll();
    });
    return this.#closed;
  }

  /** `arrived` is called with the server as soon as there is one; what waits too long, or is one too many, is told so. */
  #whenServed(arrived: (server: Server) => void, refused: () => void): void {
    if (this.#current !== undefined) {
      arrived(this.#current);
      return;
    }
    if (this.#ports.ending || this.#waiting.size >= maxWaiting) {
      refused();
      return;
    }
    const go = () => {
      clearTimeout(tooLong);
      if (this.#current !== undefined) arrived(this.#current);
    };
    const tooLong = setTimeout(() => {
      this.#waiting.delete(go);
      refused();
    }, maxWaitMs).unref();
    this.#waiting.add(go);
  }

  /** Where the request goes: a server, or a port whose server of the moment answers. */
  #target(request: IncomingMessage): Server | HeldPort {
    const chosen = this.#choose?.(request);
    if (chosen === undefined) return this;
    return 'port' in chosen ? (this.#ports.get(chosen.port) ?? this) : chosen;
  }

  #request(request: IncomingMessage, response: ServerResponse): void {
    const target = this.#target(request);
    if (target instanceof HeldPort) {
      target.#whenServed(
        (server) => target.#answer(server, request, response),
        () => refuse(response),
      );
    } else {
      target.emit('request', request, response);
    }
  }

  #answer(server: Server, request: IncomingMessage, response: ServerResponse): void {
    if (response.destroyed) return;
    const open = this.#open.get(server) ?? new Set();
    this.#open.set(server, open.add(response));
    response.once('close', () => open.delete(response));
    server.emit('request', request, response);
  }

  #upgrade(request: IncomingMessage, stream: Duplex, head: Buffer): void {
    stream.on('error', () => {});
    this.#whenServed(
      (server) => {
        if (!server.emit('upgrade', request, stream, head)) stream.destroy();
      },
      () => stream.destroy(),
    );
  }
}

/** As every refusal before a route is known (interface §7): a JSON string, to be read by scripts and kept by no cache. */
function refuse(response: ServerResponse): void {
  response
    .writeHead(503, {
      'content-type': 'application/json; charset=utf-8',
      'access-control-allow-origin': '*',
      'cache-control': 'no-store',
      'retry-after': '1',
      connection: 'close',
    })
    .end(JSON.stringify('The local network is changing its state'));
}
