/** A real EVM node from the package registry, on a free port, for payments on chains: one that says it is a developer's own. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

export interface EvmNode {
  readonly url: string;
  call<T>(method: string, ...params: unknown[]): Promise<T>;
  stop(): Promise<void>;
}

export async function startEvmNode(): Promise<EvmNode> {
  const args = ['node_modules/hardhat/internal/cli/bootstrap.js', 'node', '--port', '0'];
  const child = spawn(process.execPath, [...args, '--config', 'token/hardhat.config.cjs'], {
    cwd: import.meta.dirname,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, HARDHAT_DISABLE_TELEMETRY_PROMPT: 'true', CHAIN_ID: '31337' },
  });
  const url = await listening(child.stdout);
  child.stdout.resume();
  return {
    url,
    async call<T>(method: string, ...params: unknown[]): Promise<T> {
      const answer = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      });
      const { result, error } = JSON.parse(await answer.text());
      if (error !== undefined) throw new Error(error.message);
      return result;
    },
    async stop() {
      const gone = once(child, 'exit');
      child.kill();
      await gone;
    },
  };
}

async function listening(output: NodeJS.ReadableStream): Promise<string> {
  for await (const line of createInterface(output)) {
    const url = /JSON-RPC server at (http:\/\/\S+?)\/?$/.exec(line)?.[1];
    if (url !== undefined) return url;
  }
  throw new Error('the EVM node ended');
}
