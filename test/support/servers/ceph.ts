/**
 * Ceph with its S3 gateway: one monitor, one store in memory and one gateway, in a temporary folder and on loopback, as
 * the user who runs the tests. Nobody has to prove who they are inside it.
 */
import { randomUUID } from 'node:crypto';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from '../eventually.ts';
import { freePort } from '../free-port.ts';
import { createBucket, isListening, type ObjectStore } from './object-store.ts';
import { findProgram, runProgram, ServerProcess, serverFolder } from './programs.ts';

/** For `skipWithout`. */
export const cephPrograms = {
  'ceph-mon': findProgram('ceph-mon'),
  'ceph-osd': findProgram('ceph-osd'),
  'ceph-common': findProgram('ceph'),
  radosgw: findProgram('radosgw'),
};

const accessKey = 'turnpike-tests';
const secretKey = 'a-secret-of-the-tests';

export interface CephOptions {
  /** What a lifecycle rule takes for a day. */
  readonly secondsOfDay?: number;
}

export async function startCeph({ secondsOfDay }: CephOptions = {}): Promise<ObjectStore> {
  const folder = serverFolder('ceph', {});
  const [monitor, gateway] = [await freePort(), await freePort()];
  const conf = join(folder, 'ceph.conf');
  const fsid = randomUUID();
  for (const name of ['run', 'log', 'mon', 'osd', 'rgw', 'crash']) mkdirSync(join(folder, name));
  writeFileSync(
    conf,
    `[global]
fsid = ${fsid}
mon host = v2:127.0.0.1:${monitor}
mon initial members = a
public addr = 127.0.0.1
cluster addr = 127.0.0.1
auth cluster required = none
auth service required = none
auth client required = none
ms mon client mode = crc
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 4
osd pool default pgp num = 4
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
mon allow pool size one = true
mon data avail crit = 0
mon data avail warn = 0
mon pg warn min per osd = 0
mon max pg per osd = 1000
run dir = ${folder}/run
admin socket = ${folder}/run/$name.$pid.asok
pid file =
log file = ${folder}/log/$name.log
mon cluster log file = ${folder}/log/cluster.log
crash dir = ${folder}/crash
keyring = ${folder}/keyring
[mon.a]
mon data = ${folder}/mon
[osd.0]
osd data = ${folder}/osd
osd objectstore = memstore
memstore device bytes = 4294967296
osd class load list = *
osd class default list = *
[client.rgw]
rgw data = ${folder}/rgw
rgw frontends = beast endpoint=127.0.0.1:${gateway}
rgw thread pool size = 64
rgw enable ops log = false
rgw enable usage log = false
${secondsOfDay === undefined ? '' : `rgw lc debug interval = ${secondsOfDay}\n`}`,
  );
  const run = (program: string, ...args: string[]) =>
    runProgram(findProgram(program) ?? program, [...args, '--conf', conf], folder, {});
  const server = (program: string, ...args: string[]) =>
    new ServerProcess(findProgram(program) ?? program, [...args, '--conf', conf, '--foreground'], folder, {});
  const mon = server('ceph-mon', '--id', 'a');
  const osd = server('ceph-osd', '--id', '0');
  const rgw = server('radosgw', '--name', 'client.rgw');
  const startGateway = () =>
    rgw.start('radosgw', async () => (await fetch(`http://127.0.0.1:${gateway}/`)).status === 200);
  const stop = async () => {
    for (const one of [rgw, osd, mon]) await one.end();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const monmap = join(folder, 'monmap');
    await run('monmaptool', '--create', '--fsid', fsid, '--addv', 'a', `[v2:127.0.0.1:${monitor}]`, monmap);
    await run('ceph-mon', '--mkfs', '--id', 'a', '--monmap', monmap);
    await mon.start('ceph-mon', () => isListening(monitor));
    await eventually('the monitor leads', async () =>
      (await run('ceph', 'quorum_status', '--format', 'json')).includes('"quorum_leader_name":"a"'),
    );
    const uuid = randomUUID();
    await run('ceph', 'osd', 'new', uuid);
    await run('ceph', 'osd', 'crush', 'add', 'osd.0', '1', 'root=default', 'host=tests');
    await run('ceph-osd', '--mkfs', '--id', '0', '--osd-uuid', uuid);
    await osd.start('ceph-osd', async () =>
      /"num_up_osds":\s*1\b/.test(await run('ceph', 'osd', 'stat', '--format', 'json')),
    );
    await startGateway();
    await run(
      'radosgw-admin',
      ...['user', 'create', '--uid', 'turnpike', '--display-name', 'Turnpike'],
      ...['--access-key', accessKey, '--secret', secretKey],
    );
    const url = `s3://${accessKey}:${secretKey}@127.0.0.1:${gateway}/turnpike`;
    await createBucket(url);
    return {
      url,
      kill: () => rgw.end(),
      start: startGateway,
      pause: () => rgw.signal('SIGSTOP'),
      resume: () => rgw.signal('SIGCONT'),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
