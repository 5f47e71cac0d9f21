import { readProcessConfig } from '../../config/config.ts';
import {
  addRow,
  allRows,
  type CatalogueRow,
  endRows,
  InvalidRow,
  isActive,
  type NewRow,
} from '../../pricing/catalogue/rows.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import { type Command, printJson, printResult, readArguments, UsageError } from '../command.ts';
import { openLedgerDatabase } from '../ledger-database.ts';

const options = {
  json: { type: 'boolean' },
  multiply: { type: 'string' },
  add: { type: 'string' },
  name: { type: 'string' },
  description: { type: 'string' },
  priority: { type: 'string' },
  starts: { type: 'string' },
  ends: { type: 'string' },
  group: { type: 'string' },
  'max-uses': { type: 'string' },
  minimum: { type: 'string' },
  'max-discount': { type: 'string' },
  exclusivity: { type: 'string' },
  'max-bytes': { type: 'string' },
  'winc-limit': { type: 'string' },
  'limit-hours': { type: 'string' },
} as const;

type Values = { [K in keyof typeof options]?: string | boolean | undefined };

export const promo: Command = {
  usage: `turnpike promo list                      every promo code, fee, discount and upload adjustment
turnpike promo add <code> [options]      a promo code for card payments
turnpike promo adjust-payments [options] a fee or discount on every payment
turnpike promo adjust-uploads [options]  a change of the price of uploads
turnpike promo end <code | id>           from now on it no longer applies

  --multiply <n> | --add <n>  what it does: a factor, or US cents (winc on uploads), which may be negative
  --name, --description       what people see; a name is needed
  --starts, --ends <date>     ISO 8601; without them from now on, without end
  --priority <n>              lower ones are applied first; 500
  codes:    --group all|new|existing, --max-uses <n>, --minimum <cents>, --max-discount <cents>
  payments: --exclusivity inclusive|exclusive|inclusive_kyve: what is credited, or what is charged
  uploads:  --max-bytes <n>, --winc-limit <winc> per wallet and --limit-hours <n>
  --json                      for machines`,
  async run(args) {
    const { values, positionals } = readArguments({ args, options, allowPositionals: true });
    const [action, subject, ...rest] = positionals;
    if (rest.length > 0) throw new UsageError('too many arguments');
    const sql = await openLedgerDatabase(readProcessConfig());
    try {
      return await perform(sql, action, subject, values);
    } catch (error) {
      throw error instanceof InvalidRow ? new UsageError(error.message) : error;
    } finally {
      await sql.close();
    }
  },
};

async function perform(
  sql: Sql,
  action: string | undefined,
  subject: string | undefined,
  values: Values,
): Promise<number> {
  switch (action) {
    case 'list':
      return list(await allRows(sql), values.json === true);
    case 'add':
      return add(sql, { ...common('promo', values), ...promoOptions(subject, values) }, values);
    case 'adjust-payments':
      return add(sql, { ...common('payment', values), ...paymentOptions(values) }, values);
    case 'adjust-uploads':
      return add(sql, { ...common('upload', values), ...uploadOptions(values) }, values);
    case 'end': {
      const ended = await endRows(sql, subject ?? '', Date.now());
      const text = ended === 0 ? 'nothing of that code or id is open' : `ended ${ended}`;
      printResult(values.json === true, { ended }, text);
      return ended === 0 ? 1 : 0;
    }
    default:
      throw new UsageError(`there is no "promo ${action ?? ''}"`);
  }
}

async function add(sql: Sql, row: NewRow, values: Values): Promise<number> {
  const id = await addRow(sql, row, Date.now());
  printResult(values.json === true, { id }, String(id));
  return 0;
}

function common(kind: NewRow['kind'], values: Values): NewRow {
  const { multiply, add } = values;
  if ((multiply === undefined) === (add === undefined)) {
    throw new UsageError('say either --multiply or --add');
  }
  return {
    kind,
    operator: multiply === undefined ? 'add' : 'multiply',
    magnitude: String(multiply ?? add),
    name: String(values.name ?? ''),
    ...defined('description', values.description === undefined ? undefined : String(values.description)),
    ...defined('priority', whole(values, 'priority')),
    ...defined('startsAt', date(values, 'starts')),
    ...defined('endsAt', date(values, 'ends')),
  };
}

function promoOptions(code: string | undefined, values: Values): Partial<NewRow> {
  return {
    ...defined('code', code ?? ''),
    ...defined('targetGroup', oneOf(values, 'group', ['all', 'new', 'existing'] as const)),
    ...defined('maxUses', whole(values, 'max-uses')),
    ...defined('minimumPayment', whole(values, 'minimum')),
    ...defined('maximumDiscount', whole(values, 'max-discount')),
  };
}

function paymentOptions(values: Values): Partial<NewRow> {
  const choices = ['inclusive', 'exclusive', 'inclusive_kyve'] as const;
  return defined('exclusivity', oneOf(values, 'exclusivity', choices));
}

function uploadOptions(values: Values): Partial<NewRow> {
  const limit = whole(values, 'winc-limit');
  const hours = whole(values, 'limit-hours');
  return {
    ...defined('byteCountThreshold', whole(values, 'max-bytes')),
    ...defined('wincLimitation', limit === undefined ? undefined : BigInt(limit)),
    ...defined('limitIntervalMs', hours === undefined ? undefined : hours * 3_600_000),
  };
}

function list(rows: readonly CatalogueRow[], json: boolean): number {
  const now = Date.now();
  if (json) {
    const shown = rows.map(({ magnitude: _magnitude, ...row }) => ({ ...row, active: isActive(row, now) }));
    printJson(shown);
    return 0;
  }
  if (rows.length === 0) console.log('nothing is added to prices but the configured fee');
  for (const row of rows) {
    const state = isActive(row, now) ? 'active' : row.startsAt > now ? 'later ' : 'ended ';
    const what = row.kind === 'promo' ? `code ${row.promoCode}` : `${row.kind}s`;
    const until = row.endsAt === undefined ? '' : ` until ${new Date(row.endsAt).toISOString()}`;
    console.log(`${row.id}  ${state}  ${what}: ${row.operator} ${row.magnitudeText}  ${row.name}${until}`);
  }
  return 0;
}

/** `{}` where the option was not given: absent and undefined are not the same in a row. */
function defined<K extends keyof NewRow>(name: K, value: NewRow[K] | undefined): Partial<NewRow> {
  return value === undefined ? {} : { [name]: value };
}

function whole(values: Values, name: keyof Values): number | undefined {
  const text = values[name];
  if (text === undefined) return undefined;
  const number = /^[0-9]{1,16}$/.test(String(text)) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(number)) throw new UsageError(`--${name} must be a whole number`);
  return number;
}

function date(values: Values, name: keyof Values): number | undefined {
  const text = values[name];
  if (text === undefined) return undefined;
  const time = /^[0-9]{4}-/.test(String(text)) ? Date.parse(String(text)) : Number.NaN;
  if (Number.isNaN(time)) throw new UsageError(`--${name} must be a date such as 2027-01-31T12:00:00Z`);
  return time;
}

function oneOf<const C extends readonly string[]>(
  values: Values,
  name: keyof Values,
  choices: C,
): C[number] | undefined {
  const text = values[name];
  if (text === undefined) return undefined;
  const found = choices.find((choice) => choice === text);
  if (found === undefined) throw new UsageError(`--${name} must be one of ${choices.join(', ')}`);
  return found;
}
