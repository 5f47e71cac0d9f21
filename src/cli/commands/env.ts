import { resolve } from 'node:path';
import { readProcessConfig } from '../../config/config.ts';
import { StartupError } from '../../kernel/errors.ts';
import { appEnvironment, appVariables } from '../app-environment.ts';
import { type Command, printJson, readArguments, UsageError } from '../command.ts';
import { findProcesses } from '../run-file.ts';

export const env: Command = {
  usage: `turnpike env [--override <NAME=OTHER>]… [--json]

What the .env file of an app needs: where everything is that runs on DATA_DIR.

  --override  another name for one of them, for example GATEWAY_URL=VITE_GATEWAY_URL

turnpike env > .env.local`,
  async run(args) {
    const { values } = readArguments({
      args,
      options: { override: { type: 'string', multiple: true }, json: { type: 'boolean' } },
    });
    const others = new Map((values.override ?? []).map(parseOverride));
    const { DATA_DIR } = readProcessConfig();
    const { running } = findProcesses(DATA_DIR);
    if (running.length === 0) {
      throw new StartupError(`nothing runs on ${resolve(DATA_DIR)}: start it with "turnpike start"`);
    }
    const urls = new Map(running.flatMap(({ addresses }) => addresses.map(({ name, url }) => [name, url])));
    const found = Object.entries(appEnvironment(urls)).map(([name, value]) => [
      others.get(name) ?? name,
      value,
    ]);
    if (values.json) printJson(Object.fromEntries(found));
    else for (const [name, value] of found) console.log(`${name}="${value}"`);
    return 0;
  },
};

function parseOverride(text: string): [string, string] {
  const [name = '', other = '', ...rest] = text.split('=');
  if (rest.length > 0 || !/^[A-Za-z_][A-Za-z0-9_]{0,99}$/.test(other)) {
    throw new UsageError(`--override is NAME=OTHER, not "${text}"`);
  }
  if (!appVariables.includes(name)) {
    throw new UsageError(`there is no ${name}; there are ${appVariables.join(', ')}`);
  }
  return [name, other];
}
