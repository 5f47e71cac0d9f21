import assert from 'node:assert/strict';
import { test } from 'node:test';
import { torrentName } from '../../../formats/torrent/torrent.ts';
import type { Band } from '../publication/document.ts';
import { webSeedsOf } from './web-seeds.ts';

const files = [{ name: '00.cdb', size: 5, sha256: 'ab'.repeat(32) }];

function bandAt(...webSeeds: readonly string[]): Band {
  const magnet = `magnet:?xt=urn:btih:00${webSeeds.map((one) => `&ws=${encodeURIComponent(one)}`).join('')}`;
  return { id: 'band', files, torrent: { infohashV1: '00'.repeat(20), magnet, torrentUrl: '/' } };
}

const basesOf = (publisher: string, ...webSeeds: readonly string[]) =>
  webSeedsOf(bandAt(...webSeeds), publisher).map(({ base }) => base);

test('web seeds come from the signed magnet, and name the files of the band', () => {
  assert.deepEqual(webSeedsOf(bandAt('https://seed.example/x/webseed/'), 'https://gateway.example'), [
    { base: `https://seed.example/x/webseed/${torrentName(files)}/`, isPublic: true },
  ]);
  assert.deepEqual(webSeedsOf({ id: 'band', files }, 'https://gateway.example'), []);
});

test('the address of the publisher itself, and what is no folder over HTTP, is no web seed', () => {
  assert.deepEqual(
    basesOf(
      'https://gateway.example',
      'https://gateway.example/gw/indexes/webseed/',
      'ftp://seed.example/',
      'file:///etc/',
      'https://user:key@seed.example/',
      'https://seed.example/file',
      'https://seed.example/?x=/',
      'nothing',
    ),
    [],
  );
});

test('a public publisher leads to no address inside, one inside may', () => {
  const inside = [
    'http://127.0.0.1:1/',
    'http://10.0.0.1/',
    'http://localhost/',
    'http://[::1]/',
    'http://seed/',
  ];
  assert.deepEqual(basesOf('https://gateway.example', ...inside), []);
  const [seed] = webSeedsOf(bandAt('http://127.0.0.1:2/'), 'http://127.0.0.1:1');
  assert.deepEqual(seed, { base: `http://127.0.0.1:2/${torrentName(files)}/`, isPublic: false });
});

test('a handful is enough', () => {
  const many = Array.from({ length: 40 }, (_, at) => `https://seed${at}.example/`);
  assert.equal(basesOf('https://gateway.example', ...many).length, 4);
});
