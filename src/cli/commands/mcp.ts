import { once } from 'node:events';
import { join } from 'node:path';
import { type Config, readProcessConfig } from '../../config/config.ts';
import { makeToken, readOrCreateKey } from '../../kernel/keys.ts';
import { createLogger } from '../../kernel/log.ts';
import { type Command, readArguments, UsageError } from '../command.ts';
import { createMcpServer, type McpDeps } from '../mcp/server.ts';
import { mcpOptions, openMcp } from '../mcp/settings.ts';

export const mcp: Command = {
  usage: `turnpike mcp [--wallet <file>] [--owner <file>] [--limit <winc>] [--folder <path>] [--http <port>]

A server of the Model Context Protocol: a model can ask prices, store content, read it, look names up, buy and set
them, and see the account. Over stdin and stdout, or with --http on loopback. Without a key it only reads.

  --wallet <file>      key of the wallet that pays: Arweave, Ethereum or Solana (or TURNPIKE_WALLET)
  --owner <file>       Solana key that owns names (or TURNPIKE_OWNER; the wallet's own where it is a Solana key)
  --limit <winc>       may be spent in one session; nothing unless given
  --call-limit <winc>  in one call (default: --limit)
  --day-limit <winc>   on one day (UTC) with this key, over all sessions and starts (default: --limit)
  --x402-limit <USDC>  may also be paid by x402 in one session and on one day, as 1.50; needs an Ethereum key
  --folder <path>      files below it may be sent; none unless given
  --dry-run            say what everything would cost, and send nothing
  --http <port>        over HTTP at http://127.0.0.1:<port>/mcp with the token that is printed; 0 = any free port
  --upload-url <url>, --payment-url <url>, --gateway-url <url>
                       services elsewhere (default: the local ones)`,
  async run(args) {
    const { values } = readArguments({ args, options: { ...mcpOptions, http: { type: 'string' } } });
    const config = readProcessConfig();
    const port = values.http === undefined ? undefined : portOf(values.http);
    // To standard error: standard output belongs to the protocol.
    const log = createLogger({ name: 'mcp', level: config.LOG_LEVEL, format: config.LOG_FORMAT });
    const deps = await openMcp(values, config, log);
    try {
      await (port === undefined ? serveStdio(deps) : serveHttp(deps, port, config));
    } finally {
      await deps.spending?.close();
    }
    return 0;
  },
};

async function serveStdio(deps: McpDeps): Promise<void> {
  const { StdioServerTransport } = await import('@modelcontextprotocol/sdk/server/stdio.js');
  const server = createMcpServer(deps);
  const ended = Promise.race([
    once(process.stdin, 'close'),
    once(process.stdin, 'end'),
    once(process, 'SIGTERM'),
    once(process, 'SIGINT'),
  ]);
  await server.connect(new StdioServerTransport());
  await ended;
  await server.close();
}

async function serveHttp(deps: McpDeps, port: number, config: Config): Promise<void> {
  const { createMcpHttp } = await import('../mcp/http.ts');
  const { text: token } = await readOrCreateKey(join(config.DATA_DIR, 'keys'), 'mcp-token', makeToken);
  const { server, stop } = createMcpHttp({
    port,
    token,
    log: deps.log,
    createServer: () => createMcpServer(deps),
  });
  await server.listen();
  console.log(`MCP at ${server.url}/mcp\nsend: Authorization: Bearer ${token}`);
  await Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT')]);
  await stop();
}

function portOf(text: string): number {
  if (!/^[0-9]{1,5}$/.test(text) || Number(text) > 65_535)
    throw new UsageError('--http is a port, 0 to 65535');
  return Number(text);
}
