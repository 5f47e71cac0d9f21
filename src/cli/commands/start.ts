import { mkdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { readProcessConfig } from '../../config/config.ts';
import { StartupError } from '../../kernel/errors.ts';
import { startSurfaces } from '../../kernel/lifecycle.ts';
import { createLogger } from '../../kernel/log.ts';
import { type Command, UsageError } from '../command.ts';
import { type Address, createStack, surfaceNames } from '../stack.ts';

export const start: Command = {
  usage: `turnpike start [surface …] [--json]

  surface  only these, of ${surfaceNames.join(', ')}; without any, all
  --json   print the addresses as one line of JSON

Ctrl-C drains and stops. Everything durable is in DATA_DIR; a second start continues where it was.`,
  async run(args) {
    const { values, positionals } = parseArgs({
      args,
      options: { json: { type: 'boolean' } },
      allowPositionals: true,
    });
    for (const name of positionals) {
      if (!surfaceNames.includes(name)) {
        throw new UsageError(`there is no surface "${name}"; there are ${surfaceNames.join(', ')}`);
      }
    }
    const config = readProcessConfig();
    const dataDir = prepareDataDir(config.DATA_DIR);
    const format = process.stderr.isTTY ? 'pretty' : config.LOG_FORMAT;
    const log = createLogger({ name: 'turnpike', level: config.LOG_LEVEL, format });
    const stack = createStack(config, log, positionals);
    const running = await startSurfaces(stack.surfaces, {
      log,
      drainTimeoutMs: config.SHUTDOWN_DRAIN_TIMEOUT_MS,
      timeoutMs: config.SHUTDOWN_TIMEOUT_MS,
    });
    const addresses = stack.addresses();
    console.log(values.json ? JSON.stringify(addresses) : addressTable(addresses, dataDir));
    await running.stopped;
    return 0;
  },
};

function prepareDataDir(path: string): string {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new StartupError(`DATA_DIR ${resolve(path)} cannot be made: ${code}`);
  }
  return resolve(path);
}

function addressTable(addresses: readonly Address[], dataDir: string): string {
  const width = Math.max(...addresses.map((address) => address.name.length));
  const urlWidth = Math.max(...addresses.map((address) => address.url.length));
  const rows = addresses.map(
    ({ name, url, what }) => `  ${name.padEnd(width)}  ${url.padEnd(urlWidth)}  ${what}`,
  );
  return `\nTurnpike is open. Data and keys are in ${dataDir}\n\n${rows.join('\n')}\n\nCtrl-C stops it.\n`;
}
