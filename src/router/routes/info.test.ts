import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readConfig } from '../../config/config.ts';
import { routerSettings } from '../settings.ts';
import { contentAddresses } from './info.ts';

const anyHost = { ALLOW_UNKNOWN_HOSTS: 'true' };

/** BASE_DOMAIN, how the router is reached, where names and ids are. */
const cases: readonly [string, string, string | null, string, Record<string, string>?][] = [
  ['localhost', 'http://localhost:23000', 'http://{arnsName}.localhost:23000', 'http://localhost:23000'],
  ['localhost', 'http://127.0.0.1:3000', 'http://{arnsName}.localhost:3000', 'http://127.0.0.1:3000'],
  ['localhost', 'http://[::1]:3000', 'http://{arnsName}.localhost:3000', 'http://[::1]:3000'],
  ['gw.example', 'https://gw.example', 'https://{arnsName}.gw.example', 'https://gw.example'],
  ['gw.example', 'https://www.gw.example', 'https://{arnsName}.gw.example', 'https://gw.example'],
  ['gw.example', 'http://GW.example:8080', 'http://{arnsName}.gw.example:8080', 'http://gw.example:8080'],
  ['gw.example', 'http://10.0.0.7:3000', 'http://{arnsName}.gw.example:3000', 'http://10.0.0.7:3000'],
  ['gw.example:8443', 'https://gw.example', 'https://{arnsName}.gw.example:8443', 'https://gw.example:8443'],
  ['gw.example', 'http://router:3000', 'http://{arnsName}.gw.example:3000', 'http://gw.example:3000'],
  ['gw.example', 'http://router:3000', 'http://{arnsName}.gw.example:3000', 'http://router:3000', anyHost],
  ['10.0.0.7', 'http://10.0.0.7:3000', null, 'http://10.0.0.7:3000'],
];

for (const [domain, reached, arns, root, more = {}] of cases) {
  test(`${domain} reached at ${reached}: content is at ${root}, names at ${arns}`, () => {
    const settings = routerSettings(readConfig({ BASE_DOMAIN: domain, ...more }), () => undefined);
    const [protocol = '', host = ''] = reached.split('://');
    assert.ok(protocol === 'http' || protocol === 'https');
    assert.deepEqual(contentAddresses(settings, { protocol, host }), { arns, txid: `${root}/{txId}` });
  });
}
