/** A shell in which `turnpike`, and npx with the package's name, run this checkout. */
import { createServer, type Socket } from 'node:net';
import { program } from './program.ts';
import { type CommandResult, type Commands, runCommand } from './run-command.ts';

interface ScriptOptions {
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string>>;
}

export interface CommandShell {
  readonly run: (script: string, options: ScriptOptions) => Promise<CommandResult>;
  stop(): void;
}

const npx = `
npx() {
  [ "$1 $2" = "--yes @turnpike-network/turnpike" ] || return 9
  shift 2
  turnpike "$@"
}`;

function runIn(
  functions: string,
  script: string,
  { cwd, environment }: ScriptOptions,
): Promise<CommandResult> {
  return runCommand('bash', ['-eo', 'pipefail', '-c', `${functions}${npx}\n${script}`], {
    cwd,
    env: { ...process.env, ...environment },
  });
}

/** Each command in a process of its own, as people run them. */
export function runScript(script: string, options: ScriptOptions): Promise<CommandResult> {
  return runIn(`turnpike() { "${process.execPath}" "${program}" "$@"; }`, script, options);
}

interface Order {
  readonly args: string[];
  readonly cwd: string;
  readonly environment: Record<string, string>;
}

/** In the process that runs a test's other commands: scripts of many commands need not load the program for each. */
export async function startCommandShell(commands: Commands): Promise<CommandShell> {
  const server = createServer(async (socket) => {
    const { args, cwd, environment } = await readOrder(socket);
    const { code, out, error } = await commands.run(args, environment, cwd);
    const texts = [out, error].map((text) => Buffer.from(text));
    const head = [code ?? 1, ...texts.map(({ length }) => length)].join(' ');
    socket.end(Buffer.concat([Buffer.from(`${head}\n`), ...texts]));
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const place = server.address();
  if (place === null || typeof place === 'string') throw new Error('the shell has no port');
  return {
    run: (script, options) => runIn(functions(place.port), script, options),
    stop: () => void server.close(),
  };
}

/** Folder, number of arguments, arguments, environment, and nothing: each with a NUL behind it. */
const functions = (port: number): string => `
turnpike() {
  local socket code out error
  exec {socket}<>/dev/tcp/127.0.0.1/${port}
  { printf '%s\\0' "$PWD" "$#" "$@"; env -0; printf '\\0'; } >&$socket
  read -r code out error <&$socket
  head -c "$out" <&$socket
  head -c "$error" <&$socket >&2
  exec {socket}>&-
  return "$code"
}`;

async function readOrder(socket: Socket): Promise<Order> {
  let text = '';
  for await (const piece of socket.iterator({ destroyOnReturn: false })) {
    text += String(piece);
    const [cwd = '', count = '', ...rest] = text.split('\0');
    const variables = rest.slice(Number(count), -1);
    const end = variables.indexOf('');
    if (rest.length <= Number(count) || end === -1) continue;
    const environment = variables.slice(0, end).map((line): [string, string] => {
      const at = line.indexOf('=');
      return [line.slice(0, at), line.slice(at + 1)];
    });
    return { cwd, args: rest.slice(0, Number(count)), environment: Object.fromEntries(environment) };
  }
  throw new Error('the shell did not say which command');
}
