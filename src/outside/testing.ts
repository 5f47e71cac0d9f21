/** JSON-RPC nodes that say what a test tells them, on free ports. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** An answer that is not a result: an error of the protocol, or one of HTTP, or none at all. */
export class NodeSays {
  readonly error: { readonly code: number; readonly message: string; readonly data?: unknown } | undefined;
  readonly status: number | 'nothing';

  private constructor(status: number | 'nothing', error?: NodeSays['error']) {
    this.status = status;
    this.error = error;
  }

  static error(code: number, message = 'no', data?: unknown): NodeSays {
    return new NodeSays(200, { code, message, data });
  }

  static status(status: number): NodeSays {
    return new NodeSays(status);
  }

  /** Takes the call and closes the connection without a word. */
  static nothing(): NodeSays {
    return new NodeSays('nothing');
  }
}

export interface TestNode {
  readonly url: string;
  /** The methods that were called, in order. */
  readonly calls: string[];
}

interface Cleanup {
  after(work: () => void): void;
}

export async function startTestNode(
  t: Cleanup,
  answer: (method: string, params: readonly unknown[]) => unknown,
): Promise<TestNode> {
  const calls: string[] = [];
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (part) => {
      text += part;
    });
    request.on('end', async () => {
      const { id, method, params } = JSON.parse(text);
      calls.push(method);
      const result = await answer(method, params);
      if (!(result instanceof NodeSays)) {
        response.end(JSON.stringify({ jsonrpc: '2.0', id, result: result ?? null }));
      } else if (result.status === 'nothing') {
        response.destroy();
      } else {
        response.statusCode = result.status;
        response.end(result.error && JSON.stringify({ jsonrpc: '2.0', id, error: result.error }));
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, calls };
}
