import { readProcessConfig } from '../../config/config.ts';
import { tryParseJson } from '../../formats/json.ts';
import { type Command, readArguments, UsageError } from '../command.ts';
import { EventReader, type ReadEvent } from '../events/event-reader.ts';
import { findKey } from '../person-key.ts';
import { givenUrl, serviceUrl } from '../service-url.ts';
import { WalletClient } from '../wallet-client.ts';

const options = {
  gateway: { type: 'string' },
  payment: { type: 'string' },
  wallet: { type: 'string' },
  mine: { type: 'boolean' },
  filter: { type: 'string' },
  types: { type: 'string' },
  after: { type: 'string' },
  until: { type: 'string' },
  count: { type: 'string' },
  json: { type: 'boolean' },
} as const;

export const events: Command = {
  usage: `turnpike events [--filter <json>] [--types <list>]     blocks, transactions and items, as a gateway sees them
turnpike events --wallet <file> [--types <list>]       credits, uploads and names of a wallet

Follows what happens until Ctrl-C, a line each, and goes on by itself where a connection broke off.

  --filter <json>    only transactions and items that it matches: the filter language of the gateway
  --types <list>     only these, with commas between them: item.mined,block.new or upload.permanent,credits.low
  --after <cursor>   begin after an event that was seen; 0 for all that is kept (default: what comes from now on)
  --count <n>        end after so many events
  --until <type>     end after the first event of this type
  --json             a JSON object per line
  --gateway <url>    default: GATEWAY_URL, or GATEWAY_PORT on HOST
  --wallet <file>    the wallet's key; --mine takes the key in TURNPIKE_WALLET
  --payment <url>    of a wallet's events; default: PAYMENT_PORT on HOST`,
  async run(args) {
    const { values, positionals } = readArguments({ args, options, allowPositionals: true });
    if (positionals.length > 0) throw new UsageError('too many arguments');
    const count = countOf(values.count);
    const query = queryText(values);
    const ofWallet = values.wallet !== undefined || values.mine === true;
    if (ofWallet && values.filter !== undefined) throw new UsageError('--filter is for what a gateway sees');
    const config = readProcessConfig();
    const ending = new AbortController();
    const end = () => ending.abort();
    const target = ofWallet
      ? await walletStream(serviceUrl(config, 'payment', values.payment), {
          file: values.wallet,
          inEnvironment: config.TURNPIKE_WALLET,
        })
      : gatewayStream(
          values.gateway === undefined
            ? (config.GATEWAY_URL ?? serviceUrl(config, 'gateway'))
            : givenUrl(values.gateway),
        );
    const reader = new EventReader({
      ...target,
      path: `${target.path}${query}`,
      after: values.after,
      signal: ending.signal,
      onLost: (why) => console.error(`${why}; trying again`),
      onGap: (from, to) => console.error(`events from ${from} to ${to} are no longer kept`),
    });
    let seen = 0;
    process.once('SIGINT', end).once('SIGTERM', end);
    try {
      for await (const event of reader.events()) {
        console.log(values.json === true ? JSON.stringify(event) : lineOf(event));
        seen += 1;
        if (seen === count || event.type === values.until) break;
      }
    } finally {
      process.off('SIGINT', end).off('SIGTERM', end);
    }
    if (ending.signal.aborted && reader.cursor !== undefined) {
      console.error(`go on with --after ${reader.cursor}`);
    }
    return 0;
  },
};

function gatewayStream(url: string) {
  return { url, path: '/gw/events', headers: async () => ({}) };
}

async function walletStream(url: string, places: Parameters<typeof findKey>[0]) {
  const client = new WalletClient(url, await findKey(places));
  return { url, path: '/v1/events', headers: (path: string) => client.headers('GET', path) };
}

function queryText({ filter, types }: { readonly filter?: string; readonly types?: string }): string {
  if (filter !== undefined && tryParseJson(filter) === undefined)
    throw new UsageError('--filter is not JSON');
  const query = new URLSearchParams({
    ...(filter !== undefined && { filter }),
    ...(types !== undefined && { types }),
  });
  return query.size === 0 ? '' : `?${query}`;
}

function countOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^[1-9][0-9]{0,8}$/.test(text)) throw new UsageError(`--count is a number from 1, not "${text}"`);
  return Number(text);
}

/** What is shown of an event first, where it has it. */
const telling = ['height', 'content_type', 'data_size', 'transactions', 'winc', 'balance', 'reason', 'state'];
/** Lists and objects are for machines. */
const isShort = (value: unknown): boolean =>
  (typeof value === 'string' && value !== '' && value.length <= 64) || typeof value === 'number';
const maxFields = 4;
const longestType = 'transaction.reverted'.length;

/** `14:02:11  item.mined  <id>  height=12 …` */
function lineOf({ time, type, data }: ReadEvent): string {
  const { id, name, ...rest } = data;
  const what = [id, name].filter((value) => typeof value === 'string').join(' ');
  const fields = [...new Set([...telling, ...Object.keys(rest)])].filter((field) => isShort(rest[field]));
  const shown = fields.slice(0, maxFields).map((field) => `${field}=${String(rest[field])}`);
  const at = new Date(time).toISOString().slice(11, 19);
  return [at, type.padEnd(longestType), what, shown.join(' ')].filter((part) => part !== '').join('  ');
}
