/** Buys a name as a person does at the command line, with credits that the operator gives. */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { program } from './program.ts';
import type { RunningStack } from './stack.ts';

const root = resolve(import.meta.dirname, '../..');

/** The name belongs to a key in the stack's folder and points at the id. */
export async function buyName(
  stack: Pick<RunningStack, 'urls' | 'dataDir'>,
  name: string,
  id: string,
): Promise<void> {
  const wallet = join(stack.dataDir, 'reader-wallet.json');
  const owner = join(stack.dataDir, `owner-of-${name}.json`);
  if (!existsSync(wallet)) await turnpike(stack, 'wallet', 'create', wallet);
  const address = await turnpike(stack, 'wallet', 'address', wallet);
  await turnpike(stack, 'ledger', 'credit', address, '20', '--id', name);
  await turnpike(stack, 'name', 'key', owner);
  await turnpike(stack, 'name', 'buy', name, '--wallet', wallet, '--owner', owner, '--target', id);
}

async function turnpike(
  { urls, dataDir }: Pick<RunningStack, 'urls' | 'dataDir'>,
  ...args: string[]
): Promise<string> {
  const port = (name: string) => new URL(urls[name] ?? '').port;
  const child = spawn(process.execPath, [program, ...args], {
    cwd: root,
    env: {
      ...process.env,
      DATA_DIR: dataDir,
      PAYMENT_PORT: port('payment'),
      LOCAL_SOLANA_PORT: port('solana'),
      LOCAL_ARWEAVE_PORT: port('arweave'),
    },
  });
  let [out, error] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (piece: string) => {
    out += piece;
  });
  child.stderr.setEncoding('utf8').on('data', (piece: string) => {
    error += piece;
  });
  const code = await new Promise((done) => child.on('close', done));
  if (code !== 0) throw new Error(`turnpike ${args.join(' ')}: ${error}`);
  return out.trim();
}
