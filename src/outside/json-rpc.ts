/**
 * JSON-RPC 2.0 over HTTP to several nodes of one chain. A call goes to the first node that answers; a look-up asks
 * them all before it says that something is not there. Errors about the call itself (`RpcRefused`) are distinct from
 * errors about a node (`OutsideUnavailable`), for which another node is asked.
 */
import { isRecord, memberOf, tryParseJson } from '../formats/json.ts';
import { HttpClient, OutsideUnavailable } from './http.ts';
import { combineLookUps, type LookUp, notKnown } from './look-up.ts';

/** A node understood the call and said no; another would say the same. */
export class RpcRefused extends Error {
  override readonly name = 'RpcRefused';
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** No answer of a node that can be used. `mayHaveActed`: it may have carried the call out all the same. */
class NodeFailure extends OutsideUnavailable {
  readonly mayHaveActed: boolean;
  /** Of the error that it answered. */
  readonly code: number | undefined;

  constructor(
    message: string,
    mayHaveActed: boolean,
    { cause, code }: { cause?: unknown; code?: number } = {},
  ) {
    super(message, { cause });
    this.mayHaveActed = mayHaveActed;
    this.code = code;
  }
}

/** Where no node answered a call: the code of the error that the last of them answered. */
export function lastCodeOf(error: unknown): number | undefined {
  const last = memberOf(error, 'cause');
  return last instanceof NodeFailure ? last.code : undefined;
}

/** One node: what it answers is consistent with itself only. */
export interface JsonRpcNode {
  /** The result. Fails with `RpcRefused` or `OutsideUnavailable`. */
  call(method: string, params: readonly unknown[]): Promise<unknown>;
}

export interface JsonRpcPoolOptions {
  /** The first is preferred until it fails. */
  readonly urls: readonly string[];
  /** For one call to one node. */
  readonly timeoutMs: number;
  /** Bytes of one answer. */
  readonly maxBytes?: number;
  /** Error codes that are about the call. All others are about the node, and providers add their own. */
  readonly callErrors: ReadonlySet<number>;
}

/**
 * Solana: a transaction that fails its simulation or its signatures, invalid parameters. Not among them: a node that is
 * behind (-32005, `solanaBehind`), keeps no history (-32011) or limits our rate (-32429).
 */
export const solanaCallErrors: ReadonlySet<number> = new Set([
  -32002, -32003, -32006, -32013, -32015, -32602,
]);

/** A Solana node has not reached the slot that a question was about. */
export const solanaBehind = -32016;

/** EVM chains: execution reverted, invalid parameters. */
export const evmCallErrors: ReadonlySet<number> = new Set([3, -32602]);

const defaultMaxBytes = 4 * 1024 * 1024;
/** Statuses that say that the call was refused before it was carried out. */
const refusedStatuses = new Set([401, 403, 429]);
/** Without a connection nothing was sent. */
const notConnected = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);

export class JsonRpcPool {
  readonly #http: HttpClient;
  readonly #nodes: readonly JsonRpcNode[];
  #preferred = 0;
  #callId = 0;

  constructor({ urls, timeoutMs, maxBytes = defaultMaxBytes, callErrors }: JsonRpcPoolOptions) {
    this.#http = new HttpClient({ timeoutMs, maxBytes });
    this.#nodes = urls.map((url) => ({
      call: (method, params) => this.#ask(url, method, params, callErrors),
    }));
  }

  /**
   * The result of the first node that answers. `acts`: the call changes something on the chain. Then a refusal counts
   * only if no earlier node may have carried the call out: its effect may be the reason for the refusal.
   */
  async call(
    method: string,
    params: readonly unknown[],
    { acts = false }: { readonly acts?: boolean } = {},
  ): Promise<unknown> {
    let last: unknown;
    let mayHaveActed = false;
    for (const [index, node] of this.#inOrder()) {
      try {
        const result = await node.call(method, params);
        this.#preferred = index;
        return result;
      } catch (error) {
        if (error instanceof RpcRefused && !(acts && mayHaveActed)) throw error;
        if (error instanceof NodeFailure) mayHaveActed ||= error.mayHaveActed;
        last = error;
      }
    }
    throw new OutsideUnavailable(`no node answered ${method}`, { cause: last });
  }

  /**
   * Asks one node after the other until one has it. `ask` answers for its node with the height or slot of that node;
   * a node that fails in any way makes an absence elsewhere *not known*.
   */
  async lookUp<T>(ask: (node: JsonRpcNode) => Promise<LookUp<T>>): Promise<LookUp<T>> {
    const answers: LookUp<T>[] = [];
    for (const [index, node] of this.#inOrder()) {
      const answer = await ask(node).catch(notKnown);
      if (answer.state === 'found') {
        this.#preferred = index;
        return answer;
      }
      answers.push(answer);
    }
    return combineLookUps(answers);
  }

  close(): Promise<void> {
    return this.#http.close();
  }

  #inOrder(): [number, JsonRpcNode][] {
    const all = [...this.#nodes.entries()];
    return [...all.slice(this.#preferred), ...all.slice(0, this.#preferred)];
  }

  async #ask(
    url: string,
    method: string,
    params: readonly unknown[],
    callErrors: ReadonlySet<number>,
  ): Promise<unknown> {
    this.#callId += 1;
    const question = { jsonrpc: '2.0', id: this.#callId, method, params };
    const { status, body } = await this.#http.postJson(url, question).catch((cause: unknown) => {
      throw new NodeFailure(`a node did not answer ${method}`, !isNotConnected(cause), { cause });
    });
    if (refusedStatuses.has(status)) throw new NodeFailure(`a node answered ${method} with ${status}`, false);
    const answer = tryParseJson(body.toString('utf8'));
    if (status >= 500 || !isRecord(answer)) {
      throw new NodeFailure(`a node answered ${method} with ${status} and nothing to read`, true);
    }
    if (isRecord(answer.error)) throw failureOf(answer.error, method, callErrors);
    if (status >= 300 || !Object.hasOwn(answer, 'result')) {
      throw new NodeFailure(`a node answered ${method} with ${status} and no result`, true);
    }
    return answer.result;
  }
}

/** An error that is answered says that the call was not carried out. */
function failureOf(
  error: Record<string, unknown>,
  method: string,
  callErrors: ReadonlySet<number>,
): RpcRefused | NodeFailure {
  const code = typeof error.code === 'number' ? error.code : 0;
  const message = typeof error.message === 'string' ? error.message.slice(0, 500) : 'no message';
  if (callErrors.has(code)) return new RpcRefused(code, message, error.data);
  return new NodeFailure(`a node answered ${method} with error ${code}: ${message}`, false, { code });
}

/** The error of the connection is the cause of the client's own. */
function isNotConnected(error: unknown): boolean {
  const code = memberOf(memberOf(error, 'cause'), 'code');
  return typeof code === 'string' && notConnected.has(code);
}
