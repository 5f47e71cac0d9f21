import { type Config, readProcessConfig } from '../../config/config.ts';
import { isTxId } from '../../formats/base64url.ts';
import { StartupError } from '../../kernel/errors.ts';
import { inBytes } from '../amounts.ts';
import { closeNodes, viewNodes } from '../check/chain-copy.ts';
import { type CheckReport, checkId } from '../check/check.ts';
import { type Command, printJson, readArguments, UsageError } from '../command.ts';
import { ProgressBar } from '../progress-bar.ts';
import { givenUrl, serviceUrl } from '../service-url.ts';

/** After so many blocks a transaction counts as there for good. */
const usualDepth = 18;
/** Not all of it is there, or not for good yet. */
const notThere = 3;
/** Of a long list. */
const shownAtMost = 20;

export const check: Command = {
  usage: `turnpike check <id> [--node <url>]… [--gateway <url>]… [--json]

Whether a transaction or a data item is really there: its header, its block and confirmations, its place in its bundle, each
chunk of its data at how many nodes, and the bytes that gateways answer. Everything is proven by signatures and data roots.

  --node <url>     nodes to ask, each by itself (default: ARWEAVE_NODE_URLS, or the local one)
  --gateway <url>  gateways to ask (default: TRUSTED_GATEWAYS_URLS and the local one)
  --depth <n>      confirmations after which it counts as final (default: ${usualDepth}, locally 1)
  --json           for machines

It ends with 0 when all of it is there for good, with ${notThere} when something is missing or not final.`,
  async run(args) {
    const { values, positionals } = readArguments({
      args,
      options: {
        node: { type: 'string', multiple: true },
        gateway: { type: 'string', multiple: true },
        depth: { type: 'string' },
        json: { type: 'boolean' },
      },
      allowPositionals: true,
    });
    const [id, ...rest] = positionals;
    if (id === undefined || rest.length > 0) throw new UsageError('say which id');
    if (!isTxId(id)) throw new UsageError(`${id} is no id: those have 43 characters`);
    const config = readProcessConfig();
    const depth = depthOf(values.depth, config);
    const nodes = viewNodes(nodesOf(config, values.node));
    let bar: ProgressBar | undefined;
    try {
      const report = await checkId(id, {
        nodes,
        gateways: gatewaysOf(config, values.gateway),
        started(total) {
          bar = new ProgressBar('chunks', total, { unit: 'bytes' });
          return (bytes) => bar?.advance(bytes);
        },
      }).catch((error: unknown) => {
        throw error instanceof StartupError
          ? error
          : new StartupError(`${id} could not be checked: ${String(error)}`);
      });
      bar?.end();
      const isFinal = isThere(report) && report.block.confirmations >= depth;
      if (values.json === true) printJson({ ...report, final: isFinal });
      else console.log(describe(report, nodes.length, depth, isFinal));
      return isFinal ? 0 : notThere;
    } finally {
      bar?.end();
      await closeNodes(nodes);
    }
  },
};

export function nodesOf(config: Config, given: readonly string[] = []): string[] {
  if (given.length > 0) return given.map(givenUrl);
  return config.ARWEAVE_NODE_URLS.length > 0
    ? [...config.ARWEAVE_NODE_URLS]
    : [serviceUrl(config, 'arweave')];
}

function gatewaysOf(config: Config, given: readonly string[] = []): string[] {
  if (given.length > 0) return given.map(givenUrl);
  return [...new Set([config.GATEWAY_URL ?? serviceUrl(config, 'gateway'), ...config.TRUSTED_GATEWAYS_URLS])];
}

function depthOf(text: string | undefined, config: Config): number {
  if (text === undefined) return config.BUNDLE_CONFIRMATIONS || (config.WORLD === 'local' ? 1 : usualDepth);
  if (!/^[0-9]{1,5}$/.test(text)) throw new UsageError(`--depth is a number, not "${text}"`);
  return Number(text);
}

const isThere = ({ kind, block, missing, verifiedBy, size }: CheckReport): boolean =>
  kind !== 'unknown' &&
  block.state === 'mined' &&
  missing.length === 0 &&
  (verifiedBy !== undefined || size === 0);

function describe(report: CheckReport, nodes: number, depth: number, isFinal: boolean): string {
  const { id, kind, headerAt, block, bundles, size, offset, chunks, missing, verifiedBy, gateways } = report;
  const mined =
    block.state === 'mined'
      ? `${block.height}, ${block.confirmations} of ${depth} confirmations`
      : block.state === 'pending'
        ? 'none yet: it waits to be mined'
        : 'none that a node knows of';
  const seen = chunks.map((chunk) => chunk.nodes.length);
  const [fewest, most] = [
    seen.reduce((a, b) => Math.min(a, b), nodes),
    seen.reduce((a, b) => Math.max(a, b), 0),
  ];
  const lines: [string, string][] = [
    ['what', kind === 'unknown' ? 'nobody knows it' : `${kind} of ${inBytes(size)}`],
    ...(bundles.length === 0
      ? []
      : ([['bundle', `${bundles.join(' > ')}, from byte ${offset}`]] as [string, string][])),
    ['header', headerAt.length === 0 ? 'no node has it' : `proven, at ${headerAt.length} of ${nodes} nodes`],
    ['block', mined],
    ...(chunks.length === 0
      ? []
      : ([
          [
            'chunks',
            `${chunks.length - missing.length} of ${chunks.length}, each at ${fewest === most ? most : `${fewest} to ${most}`} of ${nodes} nodes`,
          ],
        ] as [string, string][])),
    ...missing
      .slice(0, shownAtMost)
      .map(({ start, end }): [string, string] => ['missing', `bytes ${start} to ${end - 1}`]),
    ...(missing.length > shownAtMost
      ? ([['missing', `and ${missing.length - shownAtMost} more`]] as [string, string][])
      : []),
    ['verified', verifiedBy === undefined ? 'not' : `by ${verifiedBy}`],
    ...gateways.map(({ gateway, state, note }): [string, string] => [
      'gateway',
      `${gateway}: ${state}, ${note}`,
    ]),
    ...(report.problem === undefined ? [] : ([['problem', report.problem]] as [string, string][])),
  ];
  const width = Math.max(...lines.map(([head]) => head.length));
  const verdict = isFinal ? 'It is there for good.' : 'It is not, or not yet, there for good.';
  return [id, ...lines.map(([head, text]) => `  ${head.padEnd(width)}  ${text}`), verdict].join('\n');
}
