/**
 * The environment as one typed object. Only this folder reads the environment; everything else is handed
 * the `Config`, whose keys are the variables' own names, so that a name found in the documentation is the
 * name to search for in the code.
 */

import { type Variable, type WorldName, worldNames } from './kinds.ts';
import { nearestName } from './misspelt.ts';
import { redacted, redactUrl, urlsIn } from './redact.ts';
import { fileVariable, readValueFiles } from './value-files.ts';
import { ports } from './variables/general.ts';
import { retiredIndexVariables } from './variables/indexes.ts';
import { groups, variables } from './variables.ts';

type Values<T> = { readonly [K in keyof T]: T[K] extends Variable<infer V> ? V : never };
export type Config = Values<typeof variables>;

export type { WorldName } from './kinds.ts';

type Environment = Readonly<Record<string, string | undefined>>;

export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  /** One line per wrong variable. */
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.problems = problems;
  }
}

/** Reads every variable of the table; throws `ConfigError` naming all that are wrong. */
export function readConfig(environment: Environment): Config {
  const files = readValueFiles(environment, givenAsFiles);
  const problems: string[] = [...files.problems];
  const values: Record<string, unknown> = {};
  const world = worldOf(environment);
  for (const [name, variable] of Object.entries<Variable<unknown>>(variables)) {
    const text = files.values[name] ?? environment[name];
    if (text === undefined || text === '') {
      values[name] = variable.inWorlds[world] ?? variable.fallback;
      continue;
    }
    try {
      values[name] = variable.parse(text);
    } catch (error) {
      const shown = variable.secret ? 'a secret value' : JSON.stringify(variable.show(text).slice(0, 100));
      problems.push(`${name} ${(error as Error).message}, not ${shown}`);
    }
  }
  if (problems.length > 0) throw new ConfigError(problems);
  const config = withDepths(values as Config);
  problems.push(...contradictions(config));
  if (problems.length > 0) throw new ConfigError(problems);
  return config;
}

/** Variables that may hold a key, and so may be given as a file. */
const givenAsFiles: readonly string[] = Object.entries<Variable<unknown>>(variables).flatMap(
  ([name, { mayBeInFile }]) => (mayBeInFile ? [name] : []),
);

/** What WORLD says; a wrong value is reported with the others. */
function worldOf({ WORLD }: Environment): WorldName {
  return worldNames.find((name) => name === WORLD) ?? variables.WORLD.fallback;
}

/** The process's own environment: the only place that touches it. */
export function readProcessConfig(overrides: Readonly<Record<string, string>> = {}): Config {
  return readConfig({ ...process.env, ...overrides });
}

/** Whether the environment says something of the variable. */
export function isSet(name: keyof Config, environment: Environment = process.env): boolean {
  return (environment[name] ?? '') !== '';
}

/** Overrides that give every port which the environment leaves open to the system to choose. */
export function freePorts(environment: Environment = process.env): Record<string, string> {
  const names = Object.keys(variables).filter((name) => name === 'PORT' || name.endsWith('_PORT'));
  return Object.fromEntries(
    names.filter((name) => (environment[name] ?? '') === '').map((name) => [name, '0']),
  );
}

/** Variables of earlier releases that are set, and do nothing any more. */
export function retiredVariables(environment: Environment = process.env): string[] {
  return retiredIndexVariables.filter((name) => (environment[name] ?? '') !== '');
}

/** A line for each variable that is set, that nothing reads, and whose name is nearly one of the table. */
export function misspeltVariables(environment: Environment = process.env): string[] {
  const known = [...Object.keys(variables), ...givenAsFiles.map(fileVariable)];
  const others = new Set<string>([...known, ...retiredIndexVariables]);
  return Object.keys(environment).flatMap((name) => {
    const meant = others.has(name) ? undefined : nearestName(name, known);
    return meant === undefined ? [] : [`${name} is set and means nothing here: is ${meant} meant?`];
  });
}

/**
 * How deep a block must be before it counts depends on the world: public miners may reorganise, the local network
 * mines only when something waits, so that eighteen blocks would never come.
 */
function withDepths(config: Config): Config {
  const depth = config.WORLD === 'local' ? 1 : 18;
  return {
    ...config,
    ARWEAVE_MIN_CONFIRMATIONS: config.ARWEAVE_MIN_CONFIRMATIONS || depth,
    BUNDLE_CONFIRMATIONS: config.BUNDLE_CONFIRMATIONS || depth,
  };
}

/** Values that are fine alone and wrong together. */
function contradictions(config: Config): string[] {
  const found: string[] = [];
  if (config.ADMIN_PORT === config.PORT && config.PORT !== 0) {
    found.push(`ADMIN_PORT must differ from PORT, both are ${config.PORT}`);
  }
  found.push(...takenByWebSockets(config));
  if (config.SHUTDOWN_TIMEOUT_MS < config.SHUTDOWN_DRAIN_TIMEOUT_MS) {
    found.push('SHUTDOWN_TIMEOUT_MS must not be smaller than SHUTDOWN_DRAIN_TIMEOUT_MS');
  }
  if ((config.TLS_CERTIFICATE_FILE === undefined) !== (config.TLS_KEY_FILE === undefined)) {
    found.push('TLS_CERTIFICATE_FILE and TLS_KEY_FILE must be set together');
  }
  if (config.STRIPE_SECRET_KEY !== undefined && config.STRIPE_WEBHOOK_SECRET === undefined) {
    found.push('STRIPE_WEBHOOK_SECRET must be set with STRIPE_SECRET_KEY: webhooks could not be trusted');
  }
  if (config.X402_ENABLED && config.X402_FACILITATOR_URL !== undefined && !config.X402_PAYMENT_ADDRESS) {
    found.push('X402_PAYMENT_ADDRESS must be set with X402_FACILITATOR_URL, or X402_ENABLED to false');
  }
  return found;
}

/** Clients of Solana look for WebSockets on the port after the one that they are told. */
function takenByWebSockets(config: Config): string[] {
  const { WORLD, NAMES_ENABLED, SOLANA_RPC_URL, LOCAL_SOLANA_PORT: ledger } = config;
  if (WORLD !== 'local' || !NAMES_ENABLED || SOLANA_RPC_URL.length > 0 || ledger === 0) return [];
  const names = Object.keys(ports) as (keyof typeof ports)[];
  return names
    .filter((name) => config[name] === ledger + 1)
    .map(
      (name) =>
        `${name} is ${ledger + 1}, where the local Solana ledger serves WebSockets (LOCAL_SOLANA_PORT + 1): set one of the two to another`,
    );
}

export interface ConfigRow {
  readonly group: string;
  readonly name: string;
  readonly kind: string;
  /** The variable that names a file with its value; undefined where there is none. */
  readonly file: string | undefined;
  readonly meaning: string;
  /** Of the world that the environment says. */
  readonly defaultText: string;
  /** The defaults of worlds that have one of their own. */
  readonly inWorlds: Readonly<Record<string, string>>;
  /** What is set, with secrets hidden; undefined where the default holds. */
  readonly current: string | undefined;
}

/** What `turnpike config` shows: the table with what this process's environment sets. */
export function describeProcessConfig(): ConfigRow[] {
  return describeConfig(process.env);
}

/** The table behind `turnpike config` and docs/configuration.md. */
export function describeConfig(environment: Environment = {}): ConfigRow[] {
  const world = worldOf(environment);
  return Object.entries(groups).flatMap(([group, members]) =>
    Object.entries<Variable<unknown>>(members).map(([name, variable]) => {
      const set = environment[name];
      const file = variable.mayBeInFile ? fileVariable(name) : undefined;
      const path = file === undefined ? undefined : environment[file];
      const { kind, meaning, textInWorlds: inWorlds } = variable;
      return {
        group,
        name,
        kind,
        file,
        meaning,
        defaultText: inWorlds[world] ?? variable.defaultText ?? '',
        inWorlds,
        current: set ? variable.show(set) : path ? `in ${path}` : undefined,
      };
    }),
  );
}

/** A row of the table with what holds in this process, whatever gave it that value. */
export interface ConfigValue extends ConfigRow {
  /** With secrets hidden; empty where there is none. */
  readonly value: string;
}

export function describeInForce(config: Config): ConfigValue[] {
  const values: Readonly<Record<string, unknown>> = config;
  const all: Readonly<Record<string, Variable<unknown>>> = variables;
  return describeProcessConfig().map((row) => {
    const value = values[row.name];
    const variable = all[row.name];
    const shown = value === undefined || variable === undefined ? '' : variable.show(variable.write(value));
    return { ...row, value: shown };
  });
}

/** A variable's value as it may be shown: without keys. */
export function showValue(name: string, text: string): string {
  return (
    Object.entries<Variable<unknown>>(variables)
      .find(([other]) => other === name)?.[1]
      .show(text) ?? ''
  );
}

/** Shorter ones would be found inside ordinary words. */
const leastSecret = 8;

/**
 * Takes out of any text, such as a log line, the secrets that the environment sets, and of the addresses that it sets
 * what may be a key.
 */
export function createRedactor(environment: Environment): (text: string) => string {
  const found = new Map<string, string>();
  const files = readValueFiles(environment, givenAsFiles);
  for (const [name, variable] of Object.entries<Variable<unknown>>(variables)) {
    const set = (files.values[name] ?? environment[name] ?? '').trim();
    for (const secret of variable.secretsIn(set)) {
      if (secret.length >= leastSecret) found.set(secret, redacted);
    }
    for (const address of urlsIn(set)) {
      const shown = variable.secret ? redacted : redactUrl(address);
      if (shown !== address) found.set(address, shown);
    }
  }
  // The longest first: one may be the beginning of another.
  const replacements = [...found].sort(([a], [b]) => b.length - a.length);
  return (text) => replacements.reduce((line, [address, shown]) => line.replaceAll(address, shown), text);
}

/** The same for the environment of this process. */
export function redactProcessSecrets(text: string): string {
  redactSecrets ??= createRedactor(process.env);
  return redactSecrets(text);
}
let redactSecrets: ((text: string) => string) | undefined;
