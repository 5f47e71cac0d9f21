import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { type PeerAddress, readAnnounceAnswer } from '../../../formats/torrent/index.ts';
import { allowedAddresses, allowedTrackers, readPeerAddress } from './addresses.ts';
import { type AnnounceRequest, readAnnounce, Tracker } from './tracker.ts';

const infohash = 'ab'.repeat(20);
let now = 0;
let tracker: Tracker;

beforeEach(() => {
  now = 1_000_000_000_000;
  tracker = new Tracker({ registered: (asked) => asked === infohash, now: () => now });
});

function announce(from: string, request: Partial<AnnounceRequest> = {}, own?: PeerAddress): string[] {
  const whole = { infohash, port: 6881, left: 0, stopped: false, wanted: 50, ...request };
  const { peers } = readAnnounceAnswer(tracker.announce(whole, from, own));
  return peers.map(({ host, port }) => `${host}:${port}`);
}

test('peers of a published band meet; others are turned away', () => {
  assert.deepEqual(announce('8.8.8.8'), []);
  assert.deepEqual(announce('9.9.9.9', { left: 5 }), ['8.8.8.8:6881']);
  assert.deepEqual(announce('::ffff:8.8.8.8'), ['9.9.9.9:6881']);
  assert.deepEqual(announce('2600::1', { wanted: 1 }).length, 1);
  assert.throws(() => announce('8.8.8.8', { infohash: '00'.repeat(20) }), /unregistered torrent/);
  assert.throws(() => announce('8.8.8.8', { port: 0 }), /invalid port/);
  announce('8.8.8.8', { stopped: true });
  assert.deepEqual(announce('1.1.1.1').sort(), ['2600:0:0:0:0:0:0:1:6881', '9.9.9.9:6881']);
});

test('the own seeder comes first, and whoever does not listen is not named', () => {
  const own = { host: '5.5.5.5', port: 7000 };
  announce('8.8.8.8', { port: 1, left: 100 });
  assert.deepEqual(announce('9.9.9.9', {}, own), ['5.5.5.5:7000']);
});

test('private addresses are named to private askers alone', () => {
  announce('10.0.0.7');
  announce('8.8.8.8');
  assert.deepEqual(announce('9.9.9.9'), ['8.8.8.8:6881']);
  assert.deepEqual(announce('192.168.1.1').sort(), ['10.0.0.7:6881', '8.8.8.8:6881', '9.9.9.9:6881']);
});

test('peers that are not heard of are forgotten', () => {
  announce('8.8.8.8');
  now += 661_000;
  assert.deepEqual(announce('9.9.9.9'), []);
  assert.equal(tracker.peers, 1);
});

test('one address has few ports and few words; what strangers can make it keep is bounded', () => {
  for (let port = 10; port < 20; port += 1) announce('8.8.8.8', { port });
  assert.throws(() => announce('8.8.8.8'), /slow down/);
  assert.equal(announce('9.9.9.9').length, 4);
  now += 60_000;
  announce('8.8.8.8');
  for (let at = 0; at < 3_000; at += 1) announce(`20.${at >> 8}.${at & 255}.1`, { left: 1 });
  assert.ok(tracker.peers <= 2_000, String(tracker.peers));
  assert.ok(announce('9.9.9.9').length <= 50);
  assert.equal(announce('7.7.7.7', { left: 0 }).length, 50, 'a seeder always finds room');
});

test('the query of an announce is read as raw bytes', () => {
  const hash = '%00%ff%20%25abc%7e~-_.%01%02%03%04%05%06%07%08';
  const read = readAnnounce(
    `info_hash=${hash}&peer_id=x&port=51413&left=0&event=stopped&numwant=3&compact=1`,
  );
  assert.deepEqual(read, {
    infohash: '00ff20256162637e7e2d5f2e0102030405060708',
    port: 51_413,
    left: 0,
    stopped: true,
    wanted: 3,
  });
  for (const query of ['', 'info_hash=abc', `info_hash=${'%00'.repeat(21)}`, `info_hash=${'%zz'.repeat(20)}`])
    assert.equal(readAnnounce(query), 'invalid info_hash');
  assert.deepEqual(readAnnounce(`info_hash=${'%00'.repeat(20)}&port=1e3&left=-1`), {
    infohash: '00'.repeat(20),
    port: 0,
    left: 1,
    stopped: false,
    wanted: 50,
  });
});

test('strangers name nobody inside to talk to', async () => {
  const rules = { allowPrivate: false };
  for (const host of ['localhost', 'intranet', 'a.local', 'metadata.internal', 'a.localhost.', '127.0.0.1'])
    assert.deepEqual(await allowedAddresses(host, rules), [], host);
  assert.deepEqual(await allowedAddresses('127.0.0.1', { allowPrivate: true }), ['127.0.0.1']);
  const kept = allowedTrackers(
    [
      'http://tracker.example.org/announce',
      'https://8.8.8.8/announce?key=1',
      'udp://tracker.example.org:80',
      'http://127.0.0.1/announce',
      'http://[::1]/announce',
      'http://0x7f000001/announce',
      'http://2130706433/announce',
      'http://localhost/announce',
      'http://user:word@tracker.example.org/',
      'file:///etc/passwd',
      'nonsense',
    ],
    rules,
  );
  assert.deepEqual(
    kept.map(({ host }) => host),
    ['tracker.example.org', '8.8.8.8'],
  );
});

test('peer addresses are read strictly', () => {
  assert.deepEqual(readPeerAddress('gateway.example:6881'), { host: 'gateway.example', port: 6881 });
  assert.deepEqual(readPeerAddress('[2001:db8::1]:80'), { host: '2001:db8::1', port: 80 });
  for (const text of [
    '',
    'host',
    'host:0',
    'host:65536',
    ':80',
    '[host]:80',
    '::1:80',
    'a b:1:2',
    'host:1e3',
  ])
    assert.equal(readPeerAddress(text), undefined, text);
});

test('a household of IPv6 is one, however its addresses are written', () => {
  for (let host = 1; host <= 8; host += 1) announce(`2600:1::${host.toString(16)}`, { port: 7_000 + host });
  assert.equal(tracker.peers, 4);
  announce('2600:1:0:1::1');
  assert.equal(tracker.peers, 5, 'the next /64 is another');
});
