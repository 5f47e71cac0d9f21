import { readProcessConfig } from '../../config/config.ts';
import { memberOf, requireText, textOf, tryParseJson } from '../../formats/json.ts';
import { StartupError } from '../../kernel/errors.ts';
import { listen } from '../card/listen.ts';
import { CardProviderClient, cardKey, encodeForm } from '../card/provider-client.ts';
import { findTrigger, readChanges, triggerNames } from '../card/triggers.ts';
import { type Command, printJson, readArguments, UsageError } from '../command.ts';
import { ServiceClient } from '../service-client.ts';
import { serviceUrl } from '../service-url.ts';
import { addressOfWallet } from '../wallet-file.ts';

const options = {
  json: { type: 'boolean' },
  url: { type: 'string' },
  'payment-url': { type: 'string' },
  wallet: { type: 'string' },
  amount: { type: 'string' },
  currency: { type: 'string' },
  override: { type: 'string', multiple: true },
  add: { type: 'string', multiple: true },
  'forward-to': { type: 'string' },
  events: { type: 'string' },
  'print-secret': { type: 'boolean' },
} as const;

type Values = {
  [K in keyof typeof options]?: string | boolean | string[] | undefined;
};

export const card: Command = {
  usage: `turnpike card trigger <event>              make an event of the local card provider happen
turnpike card listen                       print webhooks as they are sent, until Ctrl-C
turnpike card events [resend <id>]         the newest events, or one of them sent again

  event            ${listed(triggerNames, 19)}
  --wallet <file | address>   the payment buys credits for this wallet; without it, it buys nothing
  --amount <cents>            1000; --currency usd
  --override <object>:<path>=<value>, --add …   another value in what is created: payment_intent:metadata.order=7
  --forward-to <url>          listen: send events there too, signed with a secret of its own, while it runs
  --events <a,b>              listen: only these
  --print-secret              listen: print the secret that webhooks to the payment service are signed with
  --url, --payment-url        other addresses of the provider and the payment service
  --json                      for machines; listen prints one line for each delivery`,
  async run(args) {
    const { values, positionals } = readArguments({ args, options, allowPositionals: true });
    const [action, ...rest] = positionals;
    const provider = await openProvider(values);
    if (action === 'trigger' && rest.length === 1) return trigger(provider, rest[0] ?? '', values);
    if (action === 'listen' && rest.length === 0) {
      const secret = values['print-secret'] === true ? await webhookSecret() : undefined;
      return listen(provider, {
        forwardTo: textOption(values, 'forward-to'),
        wanted: textOption(values, 'events')?.split(',') ?? ['*'],
        isJson: values.json === true,
        secret,
      });
    }
    if (action === 'events' && rest.length === 0) return events(provider, values);
    if (action === 'events' && rest[0] === 'resend' && rest.length === 2) {
      return resend(provider, rest[1] ?? '', values);
    }
    throw new UsageError(`there is no "card ${positionals.join(' ')}"`);
  },
};

function listed(names: readonly string[], indent: number): string {
  const lines = [''];
  for (const name of names) {
    const last = lines.at(-1) ?? '';
    if (last.length + name.length > 90) lines.push(`${name}, `);
    else lines[lines.length - 1] = `${last}${name}, `;
  }
  return lines
    .map((line) => line.trimEnd())
    .join(`\n${' '.repeat(indent)}`)
    .replace(/,$/, '');
}

const textOption = (values: Values, name: keyof Values): string | undefined => {
  const value = values[name];
  return typeof value === 'string' ? value : undefined;
};

function openProvider(values: Values): Promise<CardProviderClient> {
  const config = readProcessConfig();
  return CardProviderClient.open(serviceUrl(config, 'card', textOption(values, 'url')), config.DATA_DIR);
}

/** Of the webhooks to the payment service. */
const webhookSecret = (): Promise<string> => cardKey(readProcessConfig().DATA_DIR, 'webhook-secret');

async function trigger(provider: CardProviderClient, name: string, values: Values): Promise<number> {
  const run = findTrigger(name);
  const amount = Number(textOption(values, 'amount') ?? '1000');
  if (!Number.isSafeInteger(amount) || amount < 1)
    throw new UsageError('--amount is a whole number of cents');
  const currency = textOption(values, 'currency') ?? 'usd';
  const changes = readChanges([values.override ?? [], values.add ?? []].flat().map(String));
  const [before] = await newestEvents(provider, '?limit=1');
  await run({
    provider,
    changes,
    order: orderFor(values, currency, amount),
    payOnPage,
    amount,
    currency,
  });
  const place = before === undefined ? '' : `&ending_before=${requireText(before, 'id')}`;
  const caused = (await newestEvents(provider, `?limit=100${place}`)).toReversed();
  if (values.json === true) printJson(caused.map(shortly));
  else for (const event of caused) console.log(lineOf(event));
  return 0;
}

async function newestEvents(provider: CardProviderClient, query: string): Promise<readonly unknown[]> {
  const data = memberOf(await provider.get(`/v1/events${query}`), 'data');
  return Array.isArray(data) ? data : [];
}

const shortly = (event: unknown) => ({
  id: textOf(event, 'id'),
  type: textOf(event, 'type'),
  object: textOf(memberOf(memberOf(event, 'data'), 'object'), 'id'),
});

function lineOf(event: unknown): string {
  const { id, type = '', object } = shortly(event);
  return `${type.padEnd(32)}  ${id}  ${object}`;
}

/** Orders of the payment service, which names the wallet in what it creates. */
function orderFor(values: Values, currency: string, amount: number) {
  const subject = textOption(values, 'wallet');
  if (subject === undefined) return undefined;
  const wallet = addressOfWallet(subject);
  const url = serviceUrl(readProcessConfig(), 'payment', textOption(values, 'payment-url'));
  const payment = new ServiceClient('payment service', url, 30_000);
  const session = async (kind: string): Promise<unknown> => {
    const path = `/v1/top-up/${kind}/${encodeURIComponent(wallet)}/${currency}/${amount}`;
    const { status, text } = await payment.call(path);
    if (status !== 200) throw new StartupError(`the payment service refuses: ${text.slice(0, 300)}`);
    return memberOf(tryParseJson(text), 'paymentSession');
  };
  return {
    intent: async () => requireText(await session('payment-intent'), 'id'),
    checkoutUrl: async () => requireText(await session('checkout-session'), 'url'),
  };
}

async function payOnPage(url: string, form: Parameters<typeof encodeForm>[0]): Promise<void> {
  const { origin, pathname } = new URL(url);
  const page = new ServiceClient('checkout page', origin, 15_000);
  const { status } = await page.call(pathname, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: encodeForm(form),
  });
  if (status !== 303 && status !== 200) throw new StartupError(`the checkout page answers ${status}`);
}

async function events(provider: CardProviderClient, values: Values): Promise<number> {
  const found = await newestEvents(provider, '?limit=20');
  if (values.json === true) printJson(found.map(shortly));
  else for (const event of found) console.log(lineOf(event));
  return 0;
}

async function resend(provider: CardProviderClient, id: string, values: Values): Promise<number> {
  const answer = await provider.post(`/test/events/${encodeURIComponent(id)}/resend`);
  if (values.json === true) printJson(answer);
  else console.log(`${id} is sent again`);
  return 0;
}
