import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isForeignPage } from './foreign-page.ts';

test('programs, people and pages of this machine are let in', () => {
  for (const headers of [
    {},
    { 'sec-fetch-site': 'none' },
    { 'sec-fetch-site': 'same-origin', host: 'localhost:1984' },
    { 'sec-fetch-site': 'same-site', host: '127.0.0.1:1984' },
    { 'sec-fetch-site': 'cross-site', origin: 'http://localhost:5173' },
    { 'sec-fetch-site': 'cross-site', origin: 'https://127.0.0.1:8443' },
    { 'sec-fetch-site': 'cross-site', origin: 'http://[::1]:3000' },
    { 'sec-fetch-site': 'same-site', origin: 'http://app.localhost' },
  ]) {
    assert.equal(isForeignPage(headers), false, JSON.stringify(headers));
  }
});

test('pages from elsewhere are not', () => {
  for (const headers of [
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'cross-site', origin: 'https://elsewhere.example' },
    { origin: 'https://elsewhere.example', host: 'localhost:1984' },
    { origin: 'null' },
    { origin: 'http://localhost.elsewhere.example' },
    { origin: 'http://127.0.0.1.elsewhere.example' },
    { origin: 'https://notlocalhost' },
    // Names that their owners let point to this machine.
    { origin: 'http://rebound.example:1984', host: 'rebound.example:1984' },
    { 'sec-fetch-site': 'same-origin', host: 'rebound.example:1984' },
  ]) {
    assert.equal(isForeignPage(headers), true, JSON.stringify(headers));
  }
});
