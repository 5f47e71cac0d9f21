/** Subscriptions over WebSocket: to a signature, an account, or the slots as they pass. */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { SolanaAddress } from '../../../formats/solana/address.ts';
import type { Ledger, SignatureStatus } from '../ledger.ts';
import { slotMs } from '../slots.ts';
import { accountJson, accountView } from './accounts.ts';
import { stringify } from './dispatch.ts';
import { type Params, RpcError, rpcCode, signatureText, toAddress, toOptions } from './method.ts';
import { acceptWebSocket, type TextSocket } from './websocket.ts';

const maxSockets = 1_000;
const maxPerSocket = 100;

type Stop = () => void;

export class Subscriptions {
  readonly #ledger: Ledger;
  readonly #sockets = new Set<TextSocket>();
  #count = 0;

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  upgrade(request: IncomingMessage, stream: Duplex): void {
    if (this.#sockets.size >= maxSockets) {
      stream.end('HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\ncontent-length: 0\r\n\r\n');
      return;
    }
    const running = new Map<number, Stop>();
    const socket = acceptWebSocket(request, stream, (made) => ({
      message: (text) => this.#answer(made, running, text),
      closed: () => {
        this.#sockets.delete(made);
        for (const stop of running.values()) stop();
      },
    }));
    if (socket !== undefined) this.#sockets.add(socket);
  }

  close(): void {
    for (const socket of this.#sockets) socket.close();
  }

  #answer(socket: TextSocket, running: Map<number, Stop>, text: string): void {
    let id: unknown = null;
    try {
      const request: { id?: unknown; method?: unknown; params?: unknown } = JSON.parse(text);
      id = request.id ?? null;
      const params = Array.isArray(request.params) ? request.params : [];
      const result = this.#call(socket, running, String(request.method), params);
      socket.send(stringify({ jsonrpc: '2.0', result, id }));
    } catch (error) {
      const known = error instanceof RpcError ? error : new RpcError(rpcCode.parse, 'Parse error');
      socket.send(stringify({ jsonrpc: '2.0', error: { code: known.code, message: known.message }, id }));
    }
  }

  #call(socket: TextSocket, running: Map<number, Stop>, method: string, params: Params): number | boolean {
    if (method === 'ping') return true;
    if (method.endsWith('Unsubscribe')) {
      const number = Number(params[0]);
      running.get(number)?.();
      return running.delete(number);
    }
    if (running.size >= maxPerSocket) throw new RpcError(rpcCode.invalidRequest, 'Too many subscriptions');
    this.#count += 1;
    const number = this.#count;
    const notify = (name: string, result: unknown) => {
      const params = { result, subscription: number };
      socket.send(stringify({ jsonrpc: '2.0', method: name, params }));
    };
    const start = this.#kinds[method];
    if (start === undefined) throw new RpcError(rpcCode.methodNotFound, 'Method not found');
    running.set(number, start(params, notify));
    return number;
  }

  #context(): object {
    return { slot: this.#ledger.slots.now().slot };
  }

  readonly #kinds: Readonly<
    Record<string, (params: Params, notify: (name: string, result: unknown) => void) => Stop>
  > = {
    /** Told once, when it is on the ledger; at once where it already is. */
    signatureSubscribe: (params, notify) => {
      const signature = signatureText(params[0]);
      const ledger = this.#ledger;
      const tell = ({ err }: SignatureStatus) =>
        notify('signatureNotification', { context: this.#context(), value: { err } });
      const timer = setImmediate(() => {
        const known = ledger.recentStatus(signature);
        if (known !== undefined) tell(known);
      });
      const stop = ledger.onCommit(() => {
        const known = ledger.recentStatus(signature);
        if (known === undefined) return;
        stop();
        tell(known);
      });
      return () => {
        clearImmediate(timer);
        stop();
      };
    },
    accountSubscribe: (params, notify) => {
      const address: SolanaAddress = toAddress(params[0]);
      const view = accountView(toOptions(params[1]));
      const ledger = this.#ledger;
      return ledger.onCommit((changes) => {
        if (!changes.has(address)) return;
        const value = accountJson(ledger.accounts.get(address), view, ledger.accounts);
        notify('accountNotification', { context: this.#context(), value });
      });
    },
    slotSubscribe: (_params, notify) => {
      const { slots } = this.#ledger;
      const timer = setInterval(() => {
        const { slot } = slots.now();
        notify('slotNotification', { slot, parent: slot - 1, root: slot });
      }, slotMs);
      return () => clearInterval(timer);
    },
  };
}
