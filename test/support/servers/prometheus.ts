/** Prometheus with the files of deploy/prometheus. */
import { copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { freePort } from '../free-port.ts';
import { findProgram, runProgram, ServerProcess, serverFolder } from './programs.ts';

const deploy = resolve(import.meta.dirname, '../../../deploy/prometheus');

/** For `skipWithout`. */
export const prometheusPrograms = {
  prometheus: findProgram('prometheus'),
  promtool: findProgram('promtool'),
};

/** `promtool …` in the folder of the rules. */
export function promtool(...args: readonly string[]): Promise<string> {
  return runProgram(prometheusPrograms.promtool ?? 'promtool', args, deploy, {});
}

export interface Prometheus {
  readonly url: string;
  kill(): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** `addresses`: by the usual port of the service, `host:port`. Scrapes each second. */
export async function startPrometheus(addresses: Readonly<Record<number, string>>): Promise<Prometheus> {
  const file = prometheusPrograms.prometheus;
  if (file === undefined) throw new Error('this needs prometheus (Debian: apt-get install prometheus)');
  const folder = serverFolder('prometheus', {});
  const port = await freePort();
  let text = readFileSync(join(deploy, 'prometheus.yaml'), 'utf8').replaceAll(/: 15s$/gm, ': 1s');
  for (const [usual, address] of Object.entries(addresses)) {
    text = text.replaceAll(`127.0.0.1:${usual}`, address);
  }
  writeFileSync(join(folder, 'prometheus.yaml'), text);
  copyFileSync(join(deploy, 'alerts.yaml'), join(folder, 'alerts.yaml'));
  const args = [
    `--config.file=${join(folder, 'prometheus.yaml')}`,
    `--storage.tsdb.path=${join(folder, 'data')}`,
    `--web.listen-address=127.0.0.1:${port}`,
    '--log.level=warn',
  ];
  const url = `http://127.0.0.1:${port}`;
  const server = new ServerProcess(file, args, folder, {});
  const start = () => server.start('Prometheus', async () => (await fetch(`${url}/-/ready`)).ok);
  await start();
  return {
    url,
    kill: () => server.end('SIGKILL'),
    start,
    async stop() {
      await server.end('SIGKILL');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
