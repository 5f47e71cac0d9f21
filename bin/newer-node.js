// Runs this command once more with the Node that npm installed beside the package, for machines whose own is too old.
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';

const isWindows = process.platform === 'win32';
/** What a person, a shell or a service manager ends or reloads a program with. */
const passedOn = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR2'];
/** As for workers, src/kernel/workers/node-flags.ts. */
const flags = ['--max-semi-space-size=16'];
/** Tells the newer process that the one before it passes signals on and must not be outlived. */
const launchedVariable = 'TURNPIKE_LAUNCHED';

/** This process becomes a shell around the newer one: same streams, signals, messages and exit code. */
export function becomeNewer(major, program) {
  const node = newerNode();
  if (node === undefined) return tellWhatToDo(major);
  const hasChannel = process.send !== undefined;
  const child = spawn(node, [...flags, ...process.execArgv, program, ...process.argv.slice(2)], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    serialization: 'json',
    env: { MALLOC_ARENA_MAX: '2', ...process.env, [launchedVariable]: '1' },
    // In a session of its own a Ctrl-C reaches it once, through here, and not a second time from the terminal.
    detached: !isWindows,
  });
  for (const signal of passedOn) {
    // On Windows the console tells both, and to pass one on would be to kill.
    process.on(signal, () => isWindows || child.kill(signal));
  }
  if (hasChannel) {
    process.on('message', (message) => child.connected && child.send(message));
    process.on('disconnect', () => child.connected && child.disconnect());
    child.on('message', (message) => process.connected && process.send(message));
  }
  child.on('error', () => tellWhatToDo(major));
  child.on('exit', (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 0)));
}

/** In the newer process: it ends as on SIGTERM when the older one is gone, however that one ended. */
export function endWithLauncher() {
  if (process.env[launchedVariable] === undefined) return;
  delete process.env[launchedVariable];
  process.on('disconnect', () => process.kill(process.pid, 'SIGTERM'));
  process.channel?.unref();
}

/** The binary of the optional package for this machine, where there is one. */
function newerNode() {
  const system = isWindows ? 'win' : process.platform;
  try {
    const found = createRequire(import.meta.url).resolve(`node-${system}-${process.arch}/package.json`);
    return join(dirname(found), 'bin', isWindows ? 'node.exe' : 'node');
  } catch {
    return undefined;
  }
}

function tellWhatToDo(major) {
  console.error(
    `turnpike needs Node ${major} or newer, this is ${process.versions.node}, and none came along for ${process.platform} ${process.arch}: install Node ${major} from https://nodejs.org, then start it again.`,
  );
  process.exitCode = 1;
}
