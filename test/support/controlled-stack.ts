/** A local network in this process whose state is changed as a whole, as `turnpike start` runs it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLocalControl, type LocalControl } from '../../src/cli/local/control.ts';
import { mountControl } from '../../src/cli/local/control-app.ts';
import { LocalStack } from '../../src/cli/local/local-stack.ts';
import { surfaceNames } from '../../src/cli/stack.ts';
import { readConfig } from '../../src/config/config.ts';
import type { Logger } from '../../src/kernel/log.ts';
import { silentLog } from '../../src/kernel/testing.ts';
import { freePorts } from './stack.ts';

export interface ControlledStack extends AsyncDisposable {
  readonly control: LocalControl;
  readonly dataDir: string;
  /** Address by name. */
  readonly urls: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

export interface ControlledStackOptions {
  /** Kept by `stop` where it is given. */
  readonly dataDir?: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly log?: Logger;
}

/** Mines only when asked, unless told otherwise. One at a time: ports and clock are the thread's. */
export async function startControlledStack(options: ControlledStackOptions = {}): Promise<ControlledStack> {
  const { log = silentLog } = options;
  const dataDir = options.dataDir ?? mkdtempSync(join(tmpdir(), 'turnpike-local-'));
  const config = readConfig({
    ...freePorts(),
    DATA_DIR: dataDir,
    LOCAL_ARWEAVE_BLOCK_INTERVAL_MS: '0',
    GATEWAY_POLL_INTERVAL_MS: '50',
    ...options.environment,
  });
  const local = new LocalStack({ config, log, only: surfaceNames });
  const control = createLocalControl(config, local);
  await mountControl(config, log, local, control);
  await local.start();
  const stop = async () => {
    await local.drain(1_000);
    await local.stop();
    if (options.dataDir === undefined) rmSync(dataDir, { recursive: true, force: true });
  };
  const urls = Object.fromEntries(local.stack.addresses().map(({ name, url }) => [name, url]));
  return { control, dataDir, urls, stop, [Symbol.asyncDispose]: stop };
}
