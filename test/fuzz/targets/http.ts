/** Headers, hosts and paths of requests. */
import assert from 'node:assert/strict';
import { isTxId } from '../../../src/formats/base64url.ts';
import { hasRangeForm, readRange } from '../../../src/gateway/content/answer/request.ts';
import { isNameLabel, parseHost, splitLabel } from '../../../src/gateway/content/names/host.ts';
import { HttpError } from '../../../src/kernel/errors.ts';
import { prefersType } from '../../../src/kernel/http/accept.ts';
import { MAX_RANGES, multipartRanges, parseRange, type Span } from '../../../src/kernel/http/byte-ranges.ts';
import { clientAddress, networkOf, plainAddress } from '../../../src/kernel/http/client-network.ts';
import { ifRange, noneMatch, strongETag } from '../../../src/kernel/http/conditional.ts';
import { isForeignPage } from '../../../src/kernel/http/foreign-page.ts';
import { originForm } from '../../../src/kernel/http/one-host.ts';
import { isPublicHost } from '../../../src/kernel/http/public-addresses.ts';
import { parseTraceparent } from '../../../src/kernel/tracing/tracer.ts';
import { parseHost as parseRouterHost } from '../../../src/router/request/host.ts';
import { parseTarget } from '../../../src/router/request/target.ts';
import { readOrRefused, type Target, textsOf } from '../target.ts';

const rootHosts = ['gateway.example.com', 'example.com', 'localhost'];
const id = 'AnYvLJTWcG9lr2Ll5MwYWZR2o5uTE39WbpYB0zCxwKM';
const label = 'aj3c6lcu24yg6zng4s3thqzbxbsmwhmsmzfz3dsnxvdl4aavaeqy';

function areWithin(spans: readonly Span[], size: number): void {
  assert.ok(spans.length > 0 && spans.length <= MAX_RANGES);
  for (const { start, end } of spans) assert.ok(start >= 0 && start < end && end <= size);
}

export const targets: readonly Target[] = [
  {
    name: 'http-range',
    seeds: () => ['1000\0bytes=0-99', '1000\0bytes=-5, 10-20', '1000\0bytes=900-', '0\0bytes=0-0'],
    run(input) {
      const text = textsOf(input);
      const size = /^[0-9]{1,15}$/.test(text(0)) ? Number(text(0)) : 100;
      const answer = parseRange(text(1), size);
      if (answer.kind === 'ranges') {
        areWithin(answer.spans, size);
        const parts = multipartRanges(answer.spans, size, 'text/plain', 'boundary');
        const length = parts.pieces.reduce(
          (sum, { head, span }) => sum + head.length + span.end - span.start,
          0,
        );
        assert.equal(parts.contentLength, length + parts.tail.length);
      }
      const spans = readOrRefused([HttpError], () => readRange(text(1), size));
      if (spans !== undefined) areWithin(spans, size);
      hasRangeForm(text(1));
    },
  },
  {
    name: 'http-conditional',
    seeds: () => [
      '"abc", W/"def"\0"abc"\0text/html, application/json;q=0.5, */*;q=0.1',
      '*\0Tue, 01 Jan 2030 00:00:00 GMT\0*/*',
    ],
    run(input) {
      const text = textsOf(input);
      const etag = strongETag('abc');
      assert.equal(typeof noneMatch(text(0), etag), 'boolean');
      ifRange(text(1), etag);
      ifRange(text(1), etag, new Date(1_893_456_000_000));
      const html = prefersType(text(2), 'text/html', 'application/json');
      const json = prefersType(text(2), 'application/json', 'text/html');
      assert.ok(!(html && json));
      parseTraceparent(text(0));
    },
  },
  {
    name: 'http-host',
    seeds: () => [
      `${label}.localhost:3000\0/${id}/a`,
      'sub_name.example.com\0/',
      '[::1]:80\0/raw/x',
      'www.example.com.\0/%41',
    ],
    run(input) {
      const text = textsOf(input);
      const host = parseHost(text(0), rootHosts);
      if (host.kind === 'name') {
        assert.ok(isNameLabel(host.label));
        const { name, undername } = splitLabel(host.label);
        assert.ok(name.length + undername.length > 0);
      }
      // It goes into redirects: nothing but the host itself and a port may come of it.
      if (host.kind !== 'nobody' && host.rootHost !== undefined) {
        assert.match(host.rootHost, /^[a-z.]+(?::[0-9]{1,5})?$/);
      }
      for (const baseDomain of ['example.com', 'localhost']) {
        const other = parseRouterHost(text(0), { baseDomain, allowUnknownHosts: false });
        if (other.kind === 'root') assert.match(other.authority, /^[a-z0-9.:[\]_-]+$/);
        for (const restrictToRoot of [false, true]) {
          const rules = { rootContent: undefined, restrictToRoot, chainReads: true, isolate: true };
          const target = readOrRefused([HttpError], () => parseTarget(other, text(1), rules));
          if (target?.kind === 'sandbox-redirect') assert.ok(isTxId(target.id));
        }
      }
      assert.equal(typeof isPublicHost(text(0)), 'boolean');
      isForeignPage({ host: text(0), origin: text(1) });
      assert.equal(typeof originForm(text(1)), 'string');
    },
  },
  {
    name: 'http-forwarded',
    seeds: () => ['10.0.0.1, 2001:db8::1\0', '::ffff:192.0.2.1\0', 'fe80::1%eth0\0'],
    run(input) {
      const text = textsOf(input);
      const request = { ip: '127.0.0.1', headers: { 'x-forwarded-for': text(0) } };
      for (const proxies of [0, 1, 3]) {
        // biome-ignore lint/suspicious/noExplicitAny: only these two members are read
        const address = clientAddress(request as any, proxies);
        assert.equal(typeof networkOf(plainAddress(address)), 'string');
      }
    },
  },
];
