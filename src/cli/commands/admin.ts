import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { readProcessConfig } from '../../config/config.ts';
import { isRecord, memberOf } from '../../formats/json.ts';
import { messageOf, StartupError } from '../../kernel/errors.ts';
import { type AdminClient, adminClient } from '../admin-clients.ts';
import { type Command, printJson, printResult, readArguments, UsageError } from '../command.ts';
import { explainItem } from '../explain-item.ts';
import { ProgressBar } from '../progress-bar.ts';
import { serviceUrl } from '../service-url.ts';

const options = {
  url: { type: 'string' },
  source: { type: 'string' },
  notes: { type: 'string' },
  hash: { type: 'boolean' },
  'keep-filter': { type: 'boolean' },
  from: { type: 'string' },
  to: { type: 'string' },
  'max-file-rows': { type: 'string' },
  'partition-size': { type: 'string' },
  'skip-l1': { type: 'boolean' },
  resume: { type: 'boolean' },
  router: { type: 'string' },
  upload: { type: 'string' },
  payment: { type: 'string' },
  since: { type: 'string' },
  limit: { type: 'string' },
  bundle: { type: 'string' },
  json: { type: 'boolean' },
  'dry-run': { type: 'boolean' },
} as const;

type Values = { [K in keyof typeof options]?: string | boolean | undefined };

export const admin: Command = {
  usage: `turnpike admin debug                        counts, heights, queues, what is wrong
turnpike admin queue-tx <id>                import a transaction now
turnpike admin queue-bundle <id>            unbundle it, past the filter (--keep-filter: not past it)
turnpike admin queue-data-item <file>       make data items searchable: a JSON array of headers; "-" reads it from a pipe
turnpike admin bundle-status <id>           what became of a bundle
turnpike admin block <id | hash>            stop serving an id, or every copy of content (SHA-256 in hex;
                                            in base64url with --hash)
turnpike admin unblock <id | hash>
turnpike admin block-name <name>            stop serving a name and its undernames
turnpike admin unblock-name <name>
turnpike admin blocks                       everything that is blocked
turnpike admin why <id>                     why it is not permanent, not indexed or not served: which block, filter,
                                            height, bundle or error (--bundle <id>: where it should be)
turnpike admin bundles [<state>]            the newest bundles of uploads and how they fare; open, stuck, damaged, permanent …
turnpike admin announcements                which gateways are told of uploads, and what waits for each
turnpike admin audit                        who changed what, at each service, newest first
turnpike admin export <folder> --from <height> --to <height>
                                            blocks, transactions and tags as Parquet, inside the export folder
turnpike admin export-status                how far it is, or how the last one ended; when the next is due by itself
turnpike admin export-cancel                end the one that runs; what it has finished stays
turnpike admin prune <unix seconds | ISO date>
                                            remove stable data items that were indexed before then from the index;
                                            their content stays readable (--dry-run: say what it would remove)
turnpike admin prune-status

  --url <gateway>           default: GATEWAY_PORT on HOST
  --source, --notes <text>  of a block: who asked for it, and why
  --upload <url>            of why, bundles, announcements and the audit: the upload service; default: UPLOAD_PORT on HOST
  --since <ISO date>, --limit <n>, --payment <url>, --router <url>
                            of the audit; default: PAYMENT_PORT and PORT on HOST
  --json                    for machines
  --max-file-rows <n>, --partition-size <heights>, --skip-l1, --resume   of an export
  --from, --to <height>     of a prune: only items of these heights

The key is ADMIN_API_KEY, ADMIN_API_KEY_FILE, or the one made in DATA_DIR/keys; the router's for the audit is
MODERATION_ADMIN_TOKEN or the one made there.`,
  async run(args) {
    const { values, positionals } = readArguments({ args, options, allowPositionals: true });
    const [action, subject, ...rest] = positionals;
    if (rest.length > 0) throw new UsageError('too many arguments');
    const config = readProcessConfig();
    const client = (
      name: 'gateway' | 'payment' | 'upload' | 'router',
      given: string | undefined,
    ): AdminClient => adminClient(name, serviceUrl(config, name, given), config);
    const gateway = client('gateway', values.url);
    const upload = client('upload', values.upload);
    if (action === 'why') {
      if (subject === undefined) throw new UsageError('say which id');
      return why({ upload, gateway }, subject, values.bundle, values.json === true);
    }
    if (action === 'bundles') return bundles(upload, subject, values.json === true);
    if (action === 'announcements') return announcements(upload, values.json === true);
    if (action === 'audit') {
      const others = [client('payment', values.payment), upload, client('router', values.router)];
      return audit([gateway, ...others], values);
    }
    return perform(gateway, action, subject, values);
  },
};

async function perform(
  gateway: AdminClient,
  action: string | undefined,
  subject: string | undefined,
  values: Values,
): Promise<number> {
  const needed = (what: string): string => {
    if (subject === undefined) throw new UsageError(`say which ${what}`);
    return subject;
  };
  const reason = {
    ...(values.source !== undefined && { source: values.source }),
    ...(values.notes !== undefined && { notes: values.notes }),
  };
  const json = values.json === true;
  switch (action) {
    case 'debug':
      return show(await gateway.call('GET', 'debug'));
    case 'queue-tx':
      return say(await gateway.call('POST', 'queue-tx', { id: needed('id') }), json);
    case 'queue-bundle': {
      const bypassFilter = values['keep-filter'] !== true;
      return say(await gateway.call('POST', 'queue-bundle', { id: needed('id'), bypassFilter }), json);
    }
    case 'queue-data-item':
      return say(await gateway.call('POST', 'queue-data-item', readHeaders(needed('file'))), json);
    case 'bundle-status':
      return show(await gateway.call('GET', `bundle-status/${encodeURIComponent(needed('id'))}`));
    case 'block':
      return sayObeyed(
        await gateway.call('PUT', 'block-data', { ...idOrHash(needed('id or hash'), values), ...reason }),
        json,
      );
    case 'unblock':
      return sayObeyed(
        await gateway.call('PUT', 'unblock-data', idOrHash(needed('id or hash'), values)),
        json,
      );
    case 'block-name':
      return sayObeyed(await gateway.call('PUT', 'block-name', { name: needed('name'), ...reason }), json);
    case 'unblock-name':
      return sayObeyed(await gateway.call('PUT', 'unblock-name', { name: needed('name') }), json);
    case 'blocks':
      return show(await gateway.call('GET', 'blocks'));
    case 'export':
      return exportParquet(gateway, needed('folder'), values);
    case 'export-status':
      return show(await gateway.call('GET', 'export-parquet/status'));
    case 'export-cancel':
      return cancelExport(gateway);
    case 'prune-status':
      return show(await gateway.call('GET', 'prune-stable-data-items/status'));
    case 'prune':
      return prune(gateway, needed('time'), values);
    default:
      throw new UsageError(`there is no "admin ${action ?? ''}"`);
  }
}

/** An id has 43 characters; a hash in hex cannot be mistaken for one. */
function idOrHash(text: string, values: Values): { id: string } | { hash: string } {
  if (/^[0-9a-fA-F]{64}$/.test(text)) return { hash: text };
  if (!/^[A-Za-z0-9_-]{43}$/.test(text)) {
    throw new UsageError(
      `"${text.slice(0, 100)}" is neither an id (43 characters of base64url) nor a hash (64 hex digits, or base64url with --hash)`,
    );
  }
  return values.hash === true ? { hash: text } : { id: text };
}

function readHeaders(path: string): object {
  let parsed: unknown;
  try {
    parsed = JSON.parse(readFileSync(path === '-' ? 0 : path, 'utf8'));
  } catch (error) {
    throw new StartupError(`${path}: ${messageOf(error)}`);
  }
  if (!Array.isArray(parsed)) throw new StartupError(`${path} holds no JSON array`);
  return parsed;
}

async function exportParquet(gateway: AdminClient, outputDir: string, values: Values): Promise<number> {
  const startHeight = whole(values, 'from');
  const endHeight = whole(values, 'to');
  if (startHeight === undefined || endHeight === undefined) throw new UsageError('say --from and --to');
  const partition = whole(values, 'partition-size');
  const { warning } = await gateway.call('POST', 'export-parquet', {
    outputDir,
    startHeight,
    endHeight,
    maxFileRows: whole(values, 'max-file-rows') ?? 0,
    ...(partition !== undefined && { heightPartitionSize: partition }),
    ...(values['skip-l1'] === true && { skipL1Transactions: true, skipL1Tags: true }),
    resume: values.resume === true,
  });
  if (warning !== undefined) console.error(String(warning));
  const status = await followExport(gateway);
  if (status.status === 'cancelled') {
    console.error('the export was cancelled; what it had finished stays, and --resume goes on from there');
    return 1;
  }
  if (status.status !== 'completed') {
    console.error(
      `the export failed: ${String(status.error)}\nrun it again with --resume to go on where it ended`,
    );
    return 1;
  }
  return show(status);
}

async function cancelExport(gateway: AdminClient): Promise<number> {
  await gateway.call('POST', 'export-parquet/cancel');
  return show(await followExport(gateway));
}

async function prune(gateway: AdminClient, time: string, values: Values): Promise<number> {
  const threshold = /^[0-9]+$/.test(time) ? Number(time) : Math.floor(Date.parse(time) / 1000);
  if (!Number.isSafeInteger(threshold)) throw new UsageError('the time is neither Unix seconds nor a date');
  const startHeight = whole(values, 'from');
  const endHeight = whole(values, 'to');
  const range = {
    indexedAtThreshold: threshold,
    ...(startHeight !== undefined && { startHeight }),
    ...(endHeight !== undefined && { endHeight }),
  };
  if (values['dry-run'] === true) {
    return show(await gateway.call('POST', 'prune-stable-data-items', { ...range, dryRun: true }));
  }
  const pruning = gateway.call('POST', 'prune-stable-data-items', range);
  await showPrune(gateway, pruning);
  const { prunedCount, warning } = await pruning;
  if (warning !== undefined) console.error(String(warning));
  printResult(values.json === true, { prunedCount }, `pruned ${String(prunedCount)} data items`);
  return 0;
}

const pollMs = 250;
const count = (value: unknown): number => (typeof value === 'number' ? value : 0);

/** Shows how far the export is until it ends; answers its last status. */
async function followExport(gateway: AdminClient): Promise<Record<string, unknown>> {
  let bar: ProgressBar | undefined;
  for (;;) {
    const status = await gateway.call('GET', 'export-parquet/status');
    if (typeof status.partitions === 'number') {
      bar ??= new ProgressBar('export', status.partitions, { elsewhere: 'lines' });
      const rows = isRecord(status.rows) ? count(status.rows.transactions) + count(status.rows.tags) : 0;
      bar.moveTo(count(status.partitionsDone), `${rows.toLocaleString('en')} rows`);
    }
    if (status.status !== 'running') {
      bar?.end();
      return status;
    }
    await sleep(pollMs);
  }
}

/** Shows how far a prune is until its answer is there. */
async function showPrune(gateway: AdminClient, pruning: Promise<unknown>): Promise<void> {
  let isOver = false;
  const over = Promise.allSettled([pruning]).then(() => {
    isOver = true;
  });
  let bar: ProgressBar | undefined;
  for (;;) {
    await Promise.race([over, sleep(pollMs)]);
    const isLast = isOver;
    const { status, candidates, examined, pruned } = await gateway.call(
      'GET',
      'prune-stable-data-items/status',
    );
    if ((status === 'running' || isLast) && typeof candidates === 'number') {
      bar ??= new ProgressBar('prune', candidates, { elsewhere: 'lines' });
      bar.moveTo(
        status === 'completed' ? candidates : count(examined),
        `${count(pruned).toLocaleString('en')} removed`,
      );
    }
    if (isLast) break;
  }
  bar?.end();
}

function whole(values: Values, name: keyof Values): number | undefined {
  const text = values[name];
  if (text === undefined) return undefined;
  if (!/^[0-9]{1,15}$/.test(String(text))) throw new UsageError(`--${name} must be a whole number`);
  return Number(text);
}

function show(value: unknown): number {
  printJson(value);
  return 0;
}

function say(answer: Record<string, unknown>, json: boolean): number {
  printResult(json, answer, String(answer.message));
  return 0;
}

/** A change of the block list, and who obeys it: what runs elsewhere and does not follow is not among them. */
function sayObeyed(answer: Record<string, unknown>, json: boolean): number {
  say(answer, json);
  const { obeyedBy } = answer;
  if (!json && Array.isArray(obeyedBy)) console.log(`obeyed by: ${obeyedBy.map(String).join(', ')}`);
  return 0;
}

async function why(
  clients: { readonly upload: AdminClient; readonly gateway: AdminClient },
  id: string,
  bundle: string | undefined,
  json: boolean,
): Promise<number> {
  const { sentences, ...known } = await explainItem(clients, id, bundle);
  printResult(json, { ...known, why: sentences }, printable(sentences.join('\n'), '\n'));
  return known.item === undefined && known.bundle === undefined && known.indexed !== true ? 1 : 0;
}

async function bundles(upload: AdminClient, state: string | undefined, json: boolean): Promise<number> {
  const query = state === undefined ? '' : `?${new URLSearchParams({ state })}`;
  const answer = await upload.call('GET', `bundles${query}`);
  const listed: unknown[] = Array.isArray(answer.bundles) ? answer.bundles : [];
  const lines = listed.map((bundle) => String(memberOf(bundle, 'why')));
  printResult(json, answer, printable(lines.length === 0 ? 'there are none' : lines.join('\n'), '\n'));
  return 0;
}

async function announcements(upload: AdminClient, json: boolean): Promise<number> {
  const answer = await upload.call('GET', 'announcements');
  const gateways: unknown[] = Array.isArray(answer.gateways) ? answer.gateways : [];
  const lines = gateways.map((gateway) => {
    const [host, waiting, dropped, lastError] = ['host', 'waiting', 'dropped', 'lastError'].map((name) =>
      String(memberOf(gateway, name)),
    );
    const listens = memberOf(gateway, 'listening') === true;
    const state = listens ? 'listens' : `does not listen (${lastError})`;
    return `${host} ${state}: ${waiting} items wait for it, ${dropped} were given up`;
  });
  const text = lines.length === 0 ? 'no gateway is told of uploads' : lines.join('\n');
  printResult(json, answer, printable(text, '\n'));
  return 0;
}

/** The lines of all surfaces in one list. One that does not answer is named; the others' are shown all the same. */
async function audit(clients: readonly AdminClient[], values: Values): Promise<number> {
  const limit = whole(values, 'limit') ?? 100;
  if (limit < 1 || limit > 1_000) throw new UsageError('--limit must be from 1 to 1000');
  const since = values.since === undefined ? undefined : Date.parse(String(values.since));
  if (Number.isNaN(since)) throw new UsageError('--since is no date');
  const query = new URLSearchParams({ limit: String(limit) });
  if (since !== undefined) query.set('since', new Date(since).toISOString());
  const asked = await Promise.allSettled(clients.map((client) => client.call('GET', `audit?${query}`)));
  const lines = asked.flatMap((answer) => {
    if (answer.status === 'fulfilled') return Array.isArray(answer.value.lines) ? answer.value.lines : [];
    console.error(messageOf(answer.reason));
    return [];
  });
  const newest = lines
    .toSorted((a, b) => textOfLine(b, 'at').localeCompare(textOfLine(a, 'at')))
    .slice(0, limit);
  if (values.json === true) printJson(newest);
  else for (const line of newest) console.log(auditText(line));
  return asked.some(({ status }) => status === 'fulfilled') ? 0 : 1;
}

const textOfLine = (line: unknown, name: string): string => {
  const value = memberOf(line, name);
  return typeof value === 'string' ? value : '';
};

/** Nobody who wrote a note writes to the operator's terminal. */
const printable = (text: string, but = ''): string =>
  text.replace(/\p{Cc}/gu, (character) => (character === but ? but : ' '));

function auditText(line: unknown): string {
  const [at, surface, who, action] = ['at', 'surface', 'who', 'action'].map((name) => textOfLine(line, name));
  const given = memberOf(line, 'given');
  const what = [textOfLine(line, 'kind'), textOfLine(line, 'value')].filter((text) => text !== '').join(' ');
  const why = [textOfLine(line, 'source'), textOfLine(line, 'notes')]
    .filter((text) => text !== '')
    .join(': ');
  const shown = [at, surface, who, action, what === '' && given !== undefined ? JSON.stringify(given) : what];
  const ends = [why === '' ? '' : `(${why})`, textOfLine(line, 'result')];
  return printable([...shown, ...ends].filter((text) => text !== '').join('  '));
}
