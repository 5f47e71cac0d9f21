import { readProcessConfig } from '../../config/config.ts';
import { isRecord, memberOf, tryParseJson } from '../../formats/json.ts';
import { adminClient } from '../admin-clients.ts';
import { type Command, printJson, printResult, readArguments, UsageError } from '../command.ts';
import { findKey } from '../person-key.ts';
import { serviceUrl } from '../service-url.ts';
import { WalletClient } from '../wallet-client.ts';

const options = {
  wallet: { type: 'string' },
  mine: { type: 'boolean' },
  url: { type: 'string' },
  filter: { type: 'string' },
  types: { type: 'string' },
  description: { type: 'string' },
  json: { type: 'boolean' },
} as const;

type Method = 'GET' | 'POST' | 'DELETE';
/** Of a service: `path` begins behind `/hooks`. */
type Call = (method: Method, path: string, body?: object) => Promise<unknown>;

/** A receiver did not take what was sent to it. */
const notTaken = 3;

export const hook: Command = {
  usage: `turnpike hook add <address> [--types <list>] [--filter <json>] [--description <text>]
                                  post events there as they happen; prints the secret that messages are signed with, once
turnpike hook list
turnpike hook show <hook>         how it goes
turnpike hook change <hook> [<address>] [--types <list>] [--filter <json>] [--description <text>]
turnpike hook pause <hook>        send nothing; what happens meanwhile is sent later
turnpike hook resume <hook>       go on where it was, at once
turnpike hook ping <hook>         send a ping
turnpike hook rotate <hook>       make a new secret; for a day messages are signed with both
turnpike hook dead <hook> [<message>]
                                  messages that were given up, or one of them whole
turnpike hook resend <hook> [<message>]
                                  send them again, or one of them
turnpike hook drop <hook> <message>
turnpike hook remove <hook>

  --wallet <file>    hooks of a wallet, told of its credits, uploads and names; --mine takes the key in TURNPIKE_WALLET
                     (default: the operator's, told of blocks, transactions and items)
  --url <service>    the gateway, or with a wallet the payment service (default: their ports on HOST)
  --json             for machines

The operator's key is ADMIN_API_KEY, ADMIN_API_KEY_FILE, or the one made in DATA_DIR/keys.
resend ends with ${notTaken} where the receiver did not take a message.`,
  async run(args) {
    const { values, positionals } = readArguments({ args, options, allowPositionals: true });
    const [action, ...rest] = positionals;
    if (rest.length > 2) throw new UsageError('too many arguments');
    const config = readProcessConfig();
    const ofWallet = values.wallet !== undefined || values.mine === true;
    const service = ofWallet ? 'payment' : 'gateway';
    const url = serviceUrl(config, service, values.url);
    const places = { file: values.wallet, inEnvironment: config.TURNPIKE_WALLET };
    const call = ofWallet
      ? walletCalls(new WalletClient(url, await findKey(places)))
      : operatorCalls(adminClient('gateway', url, config));
    return perform(call, action, rest, values);
  },
};

const walletCalls =
  (client: WalletClient): Call =>
  (method, path, body) =>
    client.call(method, `/v1/hooks${path}`, body);

const operatorCalls =
  (client: ReturnType<typeof adminClient>): Call =>
  (method, path, body) =>
    client.call(method, `hooks${path}`, body);

interface Values {
  readonly filter?: string;
  readonly types?: string;
  readonly description?: string;
  readonly json?: boolean;
}

async function perform(
  call: Call,
  action: string | undefined,
  [first, second]: readonly string[],
  values: Values,
): Promise<number> {
  const { json } = values;
  const needed = (given: string | undefined, what: string): string => {
    if (given === undefined) throw new UsageError(`say which ${what}`);
    return encodeURIComponent(given);
  };
  const id = () => needed(first, 'hook');
  switch (action) {
    case 'add': {
      if (first === undefined) throw new UsageError('say which address');
      const made = await call('POST', '', { url: first, ...settings(values) });
      return print(
        json,
        made,
        `${textOf(made, 'id')}\nsecret ${textOf(made, 'secret')} (it is not shown again)`,
      );
    }
    case 'list': {
      const hooks = listOf(await call('GET', ''), 'hooks');
      return print(json, hooks, hooks.length === 0 ? 'no hooks' : hooks.map(hookLine).join('\n'));
    }
    case 'show':
      return show(json, await call('GET', `/${id()}`));
    case 'change': {
      const url = second === undefined ? {} : { url: second };
      return show(json, await call('POST', `/${id()}`, { ...url, ...settings(values) }));
    }
    case 'pause':
    case 'resume':
    case 'ping':
      return show(json, await call('POST', `/${id()}/${action}`));
    case 'rotate': {
      const changed = await call('POST', `/${id()}/rotate`);
      return print(json, changed, `secret ${textOf(changed, 'secret')} (it is not shown again)`);
    }
    case 'dead': {
      if (second !== undefined) {
        printJson(await call('GET', `/${id()}/dead/${needed(second, 'message')}`));
        return 0;
      }
      const letters = listOf(await call('GET', `/${id()}/dead`), 'letters');
      return print(json, letters, letters.length === 0 ? 'none' : letters.map(letterLine).join('\n'));
    }
    case 'resend':
      return resend(call, id(), second, json);
    case 'drop':
      await call('DELETE', `/${id()}/dead/${needed(second, 'message')}`);
      return print(json, { dropped: true }, 'dropped');
    case 'remove':
      await call('DELETE', `/${id()}`);
      return print(json, { removed: true }, 'removed');
    default:
      throw new UsageError(`there is no "hook ${action ?? ''}"`);
  }
}

async function resend(
  call: Call,
  id: string,
  letter: string | undefined,
  json: boolean | undefined,
): Promise<number> {
  const letters =
    letter === undefined ? listOf(await call('GET', `/${id}/dead`), 'letters').toReversed() : [];
  const which = letter === undefined ? letters.map((one) => textOf(one, 'id')) : [letter];
  const outcomes = [];
  for (const one of which) {
    const outcome = await call('POST', `/${id}/dead/${encodeURIComponent(one)}/resend`);
    outcomes.push({ id: one, taken: memberOf(outcome, 'taken'), error: memberOf(outcome, 'error') });
    // The oldest first, and none before the one in front of it.
    if (memberOf(outcome, 'taken') !== true) break;
  }
  const lines = outcomes.map(
    ({ id: one, taken, error }) => `${one}  ${taken === true ? 'taken' : String(error)}`,
  );
  print(json, outcomes, lines.length === 0 ? 'none' : lines.join('\n'));
  return outcomes.every(({ taken }) => taken === true) ? 0 : notTaken;
}

/** What a hook is told of, and its description. */
function settings({ filter, types, description }: Values): object {
  const parsed = filter === undefined ? undefined : tryParseJson(filter);
  if (filter !== undefined && parsed === undefined) throw new UsageError('--filter is not JSON');
  const isChosen = filter !== undefined || types !== undefined;
  const query = {
    ...(filter !== undefined && { filter: parsed }),
    ...(types !== undefined && { types: types.split(',').map((type) => type.trim()) }),
  };
  return { ...(isChosen && { query }), ...(description !== undefined && { description }) };
}

function print(json: boolean | undefined, value: unknown, text: string): number {
  printResult(json, value, text);
  return 0;
}

function show(json: boolean | undefined, found: unknown): number {
  const fields = isRecord(found)
    ? Object.entries(found).filter(([, value]) => value !== null && value !== '')
    : [];
  const width = Math.max(...fields.map(([name]) => name.length));
  const lines = fields.map(([name, value]) => `${name.padEnd(width)}  ${shown(name, value)}`);
  return print(json, found, lines.join('\n'));
}

const shown = (name: string, value: unknown): string => {
  if (name.endsWith('At') || name.endsWith('Until')) return timeText(Number(value));
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
};

const timeText = (ms: number): string => new Date(ms).toISOString();
const textOf = (value: unknown, name: string): string => String(memberOf(value, name) ?? '');
const listOf = (value: unknown, name: string): unknown[] => {
  const list = memberOf(value, name);
  return Array.isArray(list) ? list : [];
};

function hookLine(value: unknown): string {
  const dead = Number(memberOf(value, 'deadLetters'));
  const notes = [`${textOf(value, 'delivered')} events`, ...(dead > 0 ? [`${dead} dead letters`] : [])];
  const error = textOf(value, 'lastError');
  if (error !== '') notes.push(error);
  return [textOf(value, 'id'), textOf(value, 'state').padEnd(7), textOf(value, 'url'), notes.join(', ')].join(
    '  ',
  );
}

function letterLine(value: unknown): string {
  const at = timeText(Number(memberOf(value, 'deadAt')));
  return [textOf(value, 'id'), at, `${textOf(value, 'events')} events`, textOf(value, 'error')].join('  ');
}
