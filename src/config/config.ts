/**
 * The environment as one typed object. Only this folder reads the environment; everything else is handed
 * the `Config`, whose keys are the variables' own names, so that a name found in the documentation is the
 * name to search for in the code.
 */
import type { Variable } from './kinds.ts';
import { groups, variables } from './variables.ts';

type Values<T> = { readonly [K in keyof T]: T[K] extends Variable<infer V> ? V : never };
export type Config = Values<typeof variables>;

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
export function readConfig(environment: Readonly<Record<string, string | undefined>>): Config {
  const problems: string[] = [];
  const values: Record<string, unknown> = {};
  for (const [name, variable] of Object.entries<Variable<unknown>>(variables)) {
    const text = environment[name];
    if (text === undefined || text === '') {
      values[name] = variable.fallback;
      continue;
    }
    try {
      values[name] = variable.parse(text);
    } catch (error) {
      const shown = variable.secret ? 'a secret value' : JSON.stringify(withoutKeys(text).slice(0, 100));
      problems.push(`${name} ${(error as Error).message}, not ${shown}`);
    }
  }
  const config = withNetworkDefaults(values as Config);
  if (problems.length === 0) problems.push(...contradictions(config));
  if (problems.length > 0) throw new ConfigError(problems);
  return config;
}

/** The process's own environment: the only place that touches it. */
export function readProcessConfig(overrides: Readonly<Record<string, string>> = {}): Config {
  return readConfig({ ...process.env, ...overrides });
}

/**
 * How deep a block must be before it counts depends on the network: public miners may reorganise, the local
 * network mines only when something waits, so that eighteen blocks would never come.
 */
function withNetworkDefaults(config: Config): Config {
  const depth = config.ARWEAVE_NODE_URLS.length === 0 ? 1 : 18;
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
  if (config.SHUTDOWN_TIMEOUT_MS < config.SHUTDOWN_DRAIN_TIMEOUT_MS) {
    found.push('SHUTDOWN_TIMEOUT_MS must not be smaller than SHUTDOWN_DRAIN_TIMEOUT_MS');
  }
  if (config.STRIPE_SECRET_KEY !== undefined && config.STRIPE_WEBHOOK_SECRET === undefined) {
    found.push('STRIPE_WEBHOOK_SECRET must be set with STRIPE_SECRET_KEY: webhooks could not be trusted');
  }
  if (config.X402_ENABLED && config.X402_FACILITATOR_URL !== undefined && !config.X402_PAYMENT_ADDRESS) {
    found.push('X402_PAYMENT_ADDRESS must be set with X402_FACILITATOR_URL, or X402_ENABLED to false');
  }
  return found;
}

export interface ConfigRow {
  readonly group: string;
  readonly name: string;
  readonly kind: string;
  readonly meaning: string;
  readonly defaultText: string;
  /** What is set, with secrets hidden; undefined where the default holds. */
  readonly current: string | undefined;
}

/** What `turnpike config` shows: the table with what this process's environment sets. */
export function describeProcessConfig(): ConfigRow[] {
  return describeConfig(process.env);
}

/** Providers of nodes put their keys anywhere in a URL: as password, as long part of the path, as query. */
function withoutKeys(text: string): string {
  return text.replace(/:\/\/[^\s,"]+/g, (address) =>
    address
      .replace(/^(:\/\/[^/?#:@]*):[^/?#]+@/, '$1:(hidden)@')
      .replace(/\/[\w.~-]{20,}(?=[/?#]|$)/g, (part, at: number) => (at < 3 ? part : '/(hidden)'))
      .replace(/([?&][^=&#]*=)[^&#]+/g, '$1(hidden)'),
  );
}

/** The table behind `turnpike config` and docs/configuration.md. */
export function describeConfig(environment: Readonly<Record<string, string | undefined>> = {}): ConfigRow[] {
  return Object.entries(groups).flatMap(([group, members]) =>
    Object.entries<Variable<unknown>>(members).map(([name, variable]) => {
      const set = environment[name];
      return {
        group,
        name,
        kind: variable.kind,
        meaning: variable.meaning,
        defaultText: variable.defaultText ?? '',
        current:
          set === undefined || set === '' ? undefined : variable.secret ? '(hidden)' : withoutKeys(set),
      };
    }),
  );
}
