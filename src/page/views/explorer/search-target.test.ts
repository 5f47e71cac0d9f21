import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isTxId } from '../../../formats/base64url.ts';
import { sandboxLabel as labelOfServer } from '../../../formats/sandbox-label.ts';
import { idOfSandboxLabel, sandboxLabel, sandboxUrl } from './ids.ts';
import { searchTargets } from './search-target.ts';

const id = 'oq7-MbGRpv1yE5XbC2FhWRk5cSWUmdGy_NJ0kx5cAbQ';
const blockHash = `${'a'.repeat(60)}-_09`;
const solana = '7EcDhSYGxXyscszYEp35KHN8vvw3svAuLKTzXwCFLtV';
const signature = '5'.repeat(88);
const ethereum = '0x52908400098527886E0F7030069857D2E4169EE7';
assert.ok(isTxId(id));
const label = labelOfServer(id);

const kinds = (text: string) => searchTargets(text).map(({ kind, value }) => `${kind} ${value}`);

describe('what is searched for', () => {
  test('is told by its shape', () => {
    assert.deepEqual(kinds('1234'), ['height 1234', 'name 1234']);
    assert.deepEqual(kinds(` ${id} `), [`id ${id}`, `arweave ${id}`]);
    assert.deepEqual(kinds(blockHash), [`block ${blockHash}`]);
    assert.deepEqual(kinds(ethereum), [`ethereum ${ethereum}`]);
    assert.ok(kinds(solana).includes(`solana ${solana}`));
    assert.deepEqual(kinds(signature), [`signature ${signature}`]);
    assert.deepEqual(kinds(label), [`id ${id}`]);
    assert.deepEqual(kinds('ardrive'), ['name ardrive']);
    assert.deepEqual(kinds('Docs_ArDrive'), ['name docs_ardrive']);
    assert.deepEqual(kinds('App-Name:Turnpike'), ['tag App-Name:Turnpike']);
    assert.deepEqual(kinds('url:https://a.b'), ['tag url:https://a.b']);
  });

  test('is found in addresses of gateways and explorers', () => {
    assert.deepEqual(kinds(`ar://${id}/a.txt`), [`id ${id}`, `arweave ${id}`]);
    assert.deepEqual(kinds('ar://ardrive'), ['name ardrive']);
    assert.deepEqual(kinds(`http://localhost:4000/${id}/index.html?x=1`), [`id ${id}`]);
    assert.deepEqual(kinds(`https://arweave.net/raw/${id}`), [`id ${id}`]);
    assert.deepEqual(kinds(`http://${label}.localhost:4000/`), [`id ${id}`]);
    assert.deepEqual(kinds('https://docs_ardrive.ar.io/a'), ['name docs_ardrive']);
    assert.deepEqual(kinds('https://viewblock.io/arweave/block/77'), ['height 77']);
    assert.deepEqual(kinds(`https://viewblock.io/arweave/address/${id}`), [`arweave ${id}`]);
    assert.deepEqual(kinds(`https://scan.ar.io/#/message/${id}`), [`id ${id}`]);
    assert.deepEqual(kinds('http://127.0.0.1:4000/'), []);
  });

  test('may be anything: what is nothing of ours is nothing, and no link leads out of the page', () => {
    const hostile = [
      '',
      '   ',
      'javascript:alert(1)',
      '‮evil',
      '<img src=x>',
      '%%%',
      'http://',
      'a b c',
      '/../..:x',
      'x'.repeat(100_000),
    ];
    for (const text of hostile) {
      for (const { href } of searchTargets(text)) {
        assert.match(href, /^\/(?:tx|block|address|tag|explorer|name)\//);
        assert.equal(new URL(href, 'http://console').origin, 'http://console');
      }
    }
    assert.deepEqual(kinds('javascript:alert(1)'), ['tag javascript:alert(1)']);
    assert.deepEqual(kinds('a b c'), []);
  });
});

describe('an id', () => {
  test('has the label of the server, and back', () => {
    assert.equal(sandboxLabel(id), label);
    assert.equal(idOfSandboxLabel(label), id);
    assert.equal(idOfSandboxLabel(`${label.slice(0, 51)}b`), undefined);
  });

  test('has an address of its own, whatever path is below', () => {
    assert.equal(sandboxUrl('http://{label}.localhost:4000', id), `http://${label}.localhost:4000/${id}`);
    assert.equal(
      sandboxUrl('http://{label}.localhost:4000', id, 'a b/?#'),
      `http://${label}.localhost:4000/${id}/a%20b/%3F%23`,
    );
  });
});
