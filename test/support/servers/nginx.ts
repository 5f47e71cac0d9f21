/** nginx with the files of deploy/nginx, as a person installs them. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { acceptsConnections } from './accepts-connections.ts';
import { type FrontPlaces, withPlaces } from './front-ports.ts';
import { findProgram, runProgram, ServerProcess, serverFolder } from './programs.ts';

const deploy = resolve(import.meta.dirname, '../../../deploy/nginx');

/** For `skipWithout`. */
export const nginxProgram = { nginx: findProgram('nginx') };

export interface NginxOptions extends FrontPlaces {
  /** Changes of the files before they are installed, to plant a fault. */
  readonly change?: (text: string) => string;
}

export interface Nginx {
  /** `nginx -t` of what is installed. */
  test(): Promise<string>;
  /** Installs the files anew with other changes, and has them loaded. */
  reload(change?: (text: string) => string): Promise<void>;
  kill(): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** Warnings about users, modules and ports are of the system, not of the files. */
const main = (folder: string): string => `
${process.getuid?.() === 0 ? 'user root;' : ''}
daemon off;
pid ${folder}/nginx.pid;
error_log stderr warn;
events { worker_connections 512; }
http {
  access_log off;
  # As Debian's nginx.conf has them.
  ssl_protocols TLSv1 TLSv1.1 TLSv1.2 TLSv1.3;
  ssl_prefer_server_ciphers on;
  client_body_temp_path ${folder}/body;
  proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi;
  scgi_temp_path ${folder}/scgi;
  include ${folder}/conf.d/*.conf;
}
`;

export async function startNginx(options: NginxOptions): Promise<Nginx> {
  const file = nginxProgram.nginx;
  if (file === undefined) throw new Error('this needs nginx (Debian: apt-get install nginx-light)');
  const folder = serverFolder('nginx', {});
  mkdirSync(join(folder, 'conf.d'));
  const install = (change: (text: string) => string = (text) => text): void => {
    const read = (name: string) => change(readFileSync(join(deploy, name), 'utf8'));
    const text = withPlaces(read('turnpike.conf'), options)
      .replaceAll('/etc/nginx/turnpike-proxy.conf', join(folder, 'turnpike-proxy.conf'))
      // Only TLS, on a free port of loopback.
      .replaceAll(/^ *listen (?:\[::\]:)?80;\n/gm, '')
      .replaceAll(/^ *listen \[::\]:443 .*\n/gm, '')
      .replaceAll('listen 443 ', `listen 127.0.0.1:${options.port} `)
      // The server of plain HTTP has no port left; it listens where nobody asks.
      .replace('server_name .gateway', `listen unix:${folder}/plain.sock;\n  server_name .gateway`);
    writeFileSync(join(folder, 'conf.d/turnpike.conf'), text);
    writeFileSync(join(folder, 'turnpike-proxy.conf'), read('turnpike-proxy.conf'));
    writeFileSync(join(folder, 'nginx.conf'), main(folder));
  };
  const args = ['-p', folder, '-c', join(folder, 'nginx.conf')];
  const server = new ServerProcess(file, args, folder, {});
  const start = () => server.start('nginx', () => acceptsConnections(options.port));
  install(options.change);
  await start();
  return {
    test: () => runProgram(file, ['-t', '-q', ...args], folder, {}),
    async reload(change) {
      install(change);
      await server.end('SIGTERM');
      await start();
    },
    kill: () => server.end('SIGKILL'),
    start,
    async stop() {
      await server.end('SIGTERM');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
