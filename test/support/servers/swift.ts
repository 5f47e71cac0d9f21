/**
 * OpenStack Swift with its S3 interface: a proxy, three storage servers with one device and one replica, and memcached,
 * in a temporary folder and on loopback, as the user who runs the tests. It has no lifecycle rules and no conditional
 * writes, and takes few parts: what a poor store does.
 */
import { globSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../free-port.ts';
import { createBucket, isListening, type ObjectStore } from './object-store.ts';
import { findProgram, runProgram, ServerProcess, serverFolder } from './programs.ts';

/** For `skipWithout`. */
export const swiftPrograms = {
  memcached: findProgram('memcached'),
  'python3-swift': globSync('/usr/lib/python3/dist-packages/swift').at(0),
};

export interface Swift extends ObjectStore {
  /** So many names `listed/000000`… in the bucket's list, as if each had been put there; none has bytes. */
  fillList(count: number): Promise<void>;
}

/** Real ones take a thousand; fewer make small tests. */
export const swiftMaxParts = 8;

const python = '/usr/bin/python3';
/** The programs of the package read /etc/swift; this reads the folder that it is told. */
const launch = `
import sys
from swift.common import utils
folder, conf, app = sys.argv[1:]
utils.set_swift_dir(folder)
from swift.common.wsgi import run_wsgi
options = {}
if app == 'object-server':
    from swift.obj import server
    options['global_conf_callback'] = server.global_conf_callback
sys.exit(run_wsgi(conf, app, verbose=True, **options))
`;
const makeRings = `
import sys
from swift.common.ring import RingBuilder
folder, *ports = sys.argv[1:]
for kind, port in zip(('account', 'container', 'object'), ports):
    builder = RingBuilder(4, 1, 1)
    builder.add_dev({'region': 1, 'zone': 1, 'ip': '127.0.0.1', 'port': int(port), 'device': 'disk', 'weight': 1.0})
    builder.rebalance()
    builder.get_ring().save('%s/%s.ring.gz' % (folder, kind))
`;
const fillList = `
import glob, sys
from swift.common import utils
from swift.common.utils import Timestamp
folder, bucket, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
utils.set_swift_dir(folder)
from swift.container.backend import ContainerBroker
for path in glob.glob(folder + '/devices/disk/containers/**/*.db', recursive=True):
    broker = ContainerBroker(path)
    if broker.get_info()['container'] != bucket: continue
    now = Timestamp.now().internal
    broker.merge_items([{'name': 'listed/%06d' % index, 'created_at': now, 'size': 0, 'deleted': 0,
        'content_type': 'text/plain', 'etag': 'd41d8cd98f00b204e9800998ecf8427e', 'storage_policy_index': 0,
        'ctype_timestamp': now, 'meta_timestamp': now} for index in range(count)])
`;

export async function startSwift(): Promise<Swift> {
  const folder = serverFolder('swift', {});
  const [account, container, object, proxy, memcached] = await freePorts(5);
  mkdirSync(join(folder, 'devices', 'disk'), { recursive: true });
  mkdirSync(join(folder, 'cache'));
  const common = (port: number | undefined) => `[DEFAULT]
bind_ip = 127.0.0.1
bind_port = ${port}
workers = 0
user = ${userInfo().username}
swift_dir = ${folder}
devices = ${folder}/devices
mount_check = false
disable_fallocate = true
fallocate_reserve = 0
log_level = WARNING
log_address = ${folder}/no-system-log
recon_cache_path = ${folder}/cache
`;
  const storage = (kind: string, port: number | undefined) => `${common(port)}
[pipeline:main]
pipeline = ${kind}-server
[app:${kind}-server]
use = egg:swift#${kind}
allow_versions = true
`;
  const conf = (name: string) => join(folder, `${name}.conf`);
  writeFileSync(
    conf('swift'),
    `[swift-hash]
swift_hash_path_prefix = of
swift_hash_path_suffix = tests
[storage-policy:0]
name = one
default = yes
`,
  );
  writeFileSync(conf('account-server'), storage('account', account));
  writeFileSync(conf('container-server'), storage('container', container));
  writeFileSync(conf('object-server'), storage('object', object));
  writeFileSync(
    conf('proxy-server'),
    `${common(proxy)}
[pipeline:main]
pipeline = catch_errors gatekeeper healthcheck cache listing_formats s3api tempauth copy slo dlo bulk versioned_writes symlink proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
[filter:catch_errors]
use = egg:swift#catch_errors
[filter:gatekeeper]
use = egg:swift#gatekeeper
[filter:healthcheck]
use = egg:swift#healthcheck
[filter:cache]
use = egg:swift#memcache
memcache_servers = 127.0.0.1:${memcached}
[filter:listing_formats]
use = egg:swift#listing_formats
[filter:s3api]
use = egg:swift#s3api
location = us-east-1
max_upload_part_num = ${swiftMaxParts}
[filter:tempauth]
use = egg:swift#tempauth
user_test_tester = testing .admin
[filter:copy]
use = egg:swift#copy
[filter:slo]
use = egg:swift#slo
[filter:dlo]
use = egg:swift#dlo
[filter:bulk]
use = egg:swift#bulk
[filter:versioned_writes]
use = egg:swift#versioned_writes
[filter:symlink]
use = egg:swift#symlink
`,
  );
  const runPython = (script: string, ...args: string[]) =>
    runProgram(python, ['-c', script, folder, ...args], folder, {});
  const server = (name: string, port: number | undefined) => {
    const process = new ServerProcess(python, ['-c', launch, folder, conf(name), name], folder, {});
    return {
      start: () => process.start(name, () => isListening(port ?? 0)),
      end: () => process.end(),
      signal: (signal: NodeJS.Signals) => process.signal(signal),
    };
  };
  const cache = new ServerProcess(
    findProgram('memcached') ?? 'memcached',
    ['-l', '127.0.0.1', '-p', String(memcached), '-U', '0', '-m', '32', '-u', userInfo().username],
    folder,
    {},
  );
  const front = server('proxy-server', proxy);
  const behind = [
    server('account-server', account),
    server('container-server', container),
    server('object-server', object),
  ];
  const stop = async () => {
    await Promise.all([front, ...behind, cache].map((one) => one.end()));
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await runPython(makeRings, ...[account, container, object].map(String));
    await cache.start('memcached', () => isListening(memcached ?? 0));
    await Promise.all(behind.map((one) => one.start()));
    await front.start();
    const bucket = 'turnpike';
    const url = `s3://test%3Atester:testing@127.0.0.1:${proxy}/${bucket}`;
    await createBucket(url);
    return {
      url,
      kill: () => front.end(),
      start: () => front.start(),
      pause: () => front.signal('SIGSTOP'),
      resume: () => front.signal('SIGCONT'),
      stop,
      async fillList(count) {
        await runPython(fillList, bucket, String(count));
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  while (ports.length < count) ports.push(await freePort());
  return ports;
}
