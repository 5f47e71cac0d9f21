/**
 * The command line: `turnpike <command> [arguments]`. This room wires the others together and talks to
 * people; it is the only one that may import everything.
 */
import { inspect } from 'node:util';
import { ConfigError, misspeltVariables, redactProcessSecrets } from '../config/config.ts';
import { StartupError } from '../kernel/errors.ts';
import { type Command, UsageError } from './command.ts';
import { version } from './version.ts';

/** Loaded when asked for, so that a small command does not wait for the whole program to load. */
interface CommandEntry {
  /** One line for `turnpike help`. */
  readonly summary: string;
  readonly load: () => Promise<Command>;
}

const commands: Readonly<Record<string, CommandEntry>> = {
  start: {
    summary: 'Start the surfaces and the local network they need',
    load: async () => (await import('./commands/start.ts')).start,
  },
  status: {
    summary: 'Show what runs on the data folder, where, and how it is',
    load: async () => (await import('./commands/status.ts')).status,
  },
  doctor: {
    summary: 'Look at an installation from inside and outside, and say what is wrong and what to do',
    load: async () => (await import('./commands/doctor.ts')).doctor,
  },
  env: {
    summary: "Print the addresses of what runs, as an app's .env file needs them",
    load: async () => (await import('./commands/env.ts')).env,
  },
  wallets: {
    summary: 'Show the wallets of the local network, whose keys everybody knows, or the key of one',
    load: async () => (await import('./commands/wallets.ts')).wallets,
  },
  faucet: {
    summary: 'Give an address AR, SOL, ARIO, USDC or credits on the local network',
    load: async () => (await import('./commands/faucet.ts')).faucet,
  },
  local: {
    summary: 'Change the local network as a whole: reset, snapshot, revert, time, mining, save, load',
    load: async () => (await import('./commands/local.ts')).local,
  },
  config: {
    summary: 'Show every environment variable, its value, default and meaning',
    load: async () => (await import('./commands/config.ts')).config,
  },
  certificate: {
    summary: 'Show the authority behind https:// on the local network, and how to trust it',
    load: async () => (await import('./commands/certificate.ts')).certificate,
  },
  wallet: {
    summary: 'Make an Arweave wallet, show its address and balance, fund it on the local network',
    load: async () => (await import('./commands/wallet.ts')).wallet,
  },
  account: {
    summary: 'Show an account by any form of its address, find a payment by its id, and how to top up',
    load: async () => (await import('./commands/account.ts')).account,
  },
  post: {
    summary: 'Store a file as a chain transaction of its own, paid in AR',
    load: async () => (await import('./commands/post.ts')).post,
  },
  check: {
    summary: 'Tell whether a transaction or a data item is really there: proven, at which nodes and gateways',
    load: async () => (await import('./commands/check.ts')).check,
  },
  reseed: {
    summary: 'Give nodes the chunks of a transaction that they lack, out of its file',
    load: async () => (await import('./commands/reseed.ts')).reseed,
  },
  verify: {
    summary: 'Verify the proof of an item that an upload service gave, without asking anybody',
    load: async () => (await import('./commands/verify.ts')).verify,
  },
  upload: {
    summary: 'Store a file or a folder, paid with credits',
    load: async () => (await import('./commands/upload.ts')).upload,
  },
  deploy: {
    summary: 'Bring a folder under a name: send what is new, point the name at it, wait until it shows',
    load: async () => (await import('./commands/deploy.ts')).deploy,
  },
  name: {
    summary: 'Price, buy, point, extend and hand over names, paid with credits',
    load: async () => (await import('./commands/name.ts')).name,
  },
  mcp: {
    summary: 'Let a model store, read and name things, within a spending limit (Model Context Protocol)',
    load: async () => (await import('./commands/mcp.ts')).mcp,
  },
  events: {
    summary: 'Follow blocks, transactions, items, or what happens to a wallet, as it happens',
    load: async () => (await import('./commands/events.ts')).events,
  },
  hook: {
    summary: 'Have events posted to an address: make, watch and mend webhooks',
    load: async () => (await import('./commands/hook.ts')).hook,
  },
  ledger: {
    summary: 'Check that the credit ledger adds up, look at a wallet, give credits',
    load: async () => (await import('./commands/ledger.ts')).ledger,
  },
  backup: {
    summary: 'Back up a running installation to a folder or a bucket, and prove what is in a backup',
    load: async () => (await import('./commands/backup.ts')).backup,
  },
  restore: {
    summary: 'Put a backup where there is nothing yet, and prove that its ledger adds up',
    load: async () => (await import('./commands/restore.ts')).restore,
  },
  reconcile: {
    summary:
      'After a restore: find what the outside knows and the ledger does not, and credit what proves itself',
    load: async () => (await import('./commands/reconcile.ts')).reconcile,
  },
  card: {
    summary: 'Trigger, watch and resend events of the local card provider',
    load: async () => (await import('./commands/card.ts')).card,
  },
  promo: {
    summary: 'Promo codes, and adjustments of the prices of payments and uploads',
    load: async () => (await import('./commands/promo.ts')).promo,
  },
  index: {
    summary: 'Build, publish, list and verify the index files of a gateway',
    load: async () => (await import('./commands/index-command.ts')).index,
  },
  history: {
    summary: 'The history of the index in ClickHouse: statements that make its tables, and how far it is',
    load: async () => (await import('./commands/history.ts')).history,
  },
  admin: {
    summary: 'Run a gateway: block content and names, queue bundles, export, prune, see its state',
    load: async () => (await import('./commands/admin.ts')).admin,
  },
};

/** As sysexits(3) has it, so that scripts tell it from refusals that a command names: `turnpike deploy` has several. */
const usageExit = 64;

export async function main(args: string[]): Promise<void> {
  const [name = 'help', ...rest] = args;
  if (name === 'help' || name === '--help' || name === '-h') {
    console.log(helpText());
    return;
  }
  if (name === 'version' || name === '--version' || name === '-v') {
    console.log(version);
    return;
  }
  const entry = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (entry === undefined) {
    console.error(`there is no command "${name}"\n\n${helpText()}`);
    process.exitCode = usageExit;
    return;
  }
  const command = await entry.load();
  if (rest.includes('--help') || rest.includes('-h')) {
    console.log(`${entry.summary}\n\n${command.usage}`);
    return;
  }
  // A start tells it in its log.
  if (name !== 'start') for (const line of misspeltVariables()) console.error(line);
  try {
    process.exitCode = await command.run(rest);
  } catch (error) {
    process.exitCode = explain(error, command);
  }
}

/** Turns what went wrong into a line for a person; a stack is shown only for a failure of ours. */
function explain(error: unknown, command: Command): number {
  if (error instanceof UsageError || isParseArgsError(error)) {
    console.error(`${redactProcessSecrets(error.message)}\n\n${command.usage}`);
    return usageExit;
  }
  if (error instanceof ConfigError) {
    for (const problem of error.problems) console.error(redactProcessSecrets(problem));
    return 1;
  }
  if (error instanceof StartupError) {
    console.error(redactProcessSecrets(error.message));
    return 1;
  }
  console.error(redactProcessSecrets(inspect(error)));
  return 1;
}

function isParseArgsError(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS');
}

function helpText(): string {
  const width = Math.max(...Object.keys(commands).map((name) => name.length));
  const lines = Object.entries(commands).map(([name, { summary }]) => `  ${name.padEnd(width)}  ${summary}`);
  return `turnpike ${version}: the toll road of permanent storage\n\n${lines.join('\n')}\n\nturnpike <command> --help tells more.`;
}
