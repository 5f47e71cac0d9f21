/** What clients of payment, upload, names and router write into headers and bodies, and operators into settings. */
import assert from 'node:assert/strict';
import { readChanges } from '../../../src/cli/card/triggers.ts';
import { parseTag, readArguments, UsageError } from '../../../src/cli/command.ts';
import { parseKey } from '../../../src/cli/person-key.ts';
import { parseHeaders } from '../../../src/cli/stack/tracing.ts';
import { ConfigError, createRedactor, readConfig } from '../../../src/config/config.ts';
import { nearestName } from '../../../src/config/misspelt.ts';
import { redactUrl, redactUrlsInJson, redactUrlsInText } from '../../../src/config/redact.ts';
import { variables } from '../../../src/config/variables.ts';
import { BadQuery } from '../../../src/events/feed.ts';
import { tryParseJson } from '../../../src/formats/json.ts';
import { parseSolanaAddress } from '../../../src/formats/solana/address.ts';
import { readPage } from '../../../src/kernel/admin/paging.ts';
import { readAuditQuery } from '../../../src/kernel/audit-log.ts';
import { HttpError, StartupError } from '../../../src/kernel/errors.ts';
import { networks } from '../../../src/kernel/http/client-network.ts';
import { CardApiError } from '../../../src/localnet/card/errors.ts';
import { FormError, parseForm } from '../../../src/localnet/card/params.ts';
import { parseSearch } from '../../../src/localnet/card/search.ts';
import { readOwnerProof, verifyOwnerProof } from '../../../src/names/actions/owner-proof.ts';
import { parseSecretKey } from '../../../src/names/chain/service-key.ts';
import { toActionName } from '../../../src/names/requests/action.ts';
import { mergeFields } from '../../../src/names/requests/fields.ts';
import { readActionRequest } from '../../../src/names/requests/read-action.ts';
import { readProcessId, readPurchase } from '../../../src/names/requests/read-purchase.ts';
import { readToken, signToken } from '../../../src/payment/auth/jwt.ts';
import { InvalidAmount, parseCredits } from '../../../src/payment/bookkeeping.ts';
import { readReferer } from '../../../src/payment/referer.ts';
import { parseByteCount } from '../../../src/payment/routes/price.ts';
import { parseWanted } from '../../../src/payment/routes/x402-top-up.ts';
import { readTypes } from '../../../src/payment/wallet-source.ts';
import { parseDecimal, toText } from '../../../src/pricing/decimal.ts';
import { parseBlocklist } from '../../../src/router/moderation/entries.ts';
import { readBlock } from '../../../src/router/routes/moderation.ts';
import { readManifest } from '../../../src/storage/backup/manifest.ts';
import { parseS3Url } from '../../../src/storage/blobs/s3/address.ts';
import { readApprovalTags } from '../../../src/upload/intake/approval-tags.ts';
import { readUserTags, unsignedItemBytes } from '../../../src/upload/x402/unsigned-item.ts';
import { readOrRefused, type Target, textsOf } from '../target.ts';

const service = parseSolanaAddress('4zvwRjXUKGfvwnParsHAS3HuSVzV5cA4McphgmoCtajS');
const other = '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin';
const id = 'AnYvLJTWcG9lr2Ll5MwYWZR2o5uTE39WbpYB0zCxwKM';
const secret = 'a secret of this target';

export const targets: readonly Target[] = [
  {
    name: 'names-request',
    seeds: () => [
      `buy-name\0{"name":"a-name","type":"lease","years":1}`,
      `set-record\0{"antId":"${other}","ownerAddress":"${service}","undername":"docs","transactionId":"${id}","ttlSeconds":"3600"}`,
      `set-record-metadata\0{"antId":"${other}","ownerAddress":"${service}","displayName":"x","recordKeywords":["a"]}`,
      `transfer\0{"antId":"${other}","ownerAddress":"${service}","target":"${other}"}`,
      'extend-lease\0{"name":"a","years":2}',
      'increase-undername-limit\0{"name":"a","increaseQty":2}',
    ],
    run(input) {
      const text = textsOf(input);
      const body = tryParseJson(text(1));
      const fields = readOrRefused([HttpError], () => mergeFields({ type: 'permabuy' }, body));
      if (fields === undefined) return;
      const action = toActionName(text(0));
      if (action !== undefined) {
        const request = readOrRefused([HttpError], () => readActionRequest(action, fields, service));
        if (request !== undefined) assert.equal(request.action, action);
      }
      readOrRefused([HttpError], () => readPurchase(text(0), text(2), fields));
      readOrRefused([HttpError], () => readProcessId(text(2)));
    },
  },
  {
    name: 'owner-proof',
    seeds: () => [
      `${Buffer.alloc(32, 3).toString('base64url')}\0f81d4fae-7dec-11d0-a765-00a0c91e6bf6\0${Buffer.alloc(64, 2).toString('base64url')}\0${4}\0`,
    ],
    run(input) {
      const text = textsOf(input);
      const headers = {
        'x-owner-public-key': text(0),
        'x-owner-nonce': text(1),
        'x-owner-signature': text(2),
        'x-owner-signature-type': text(3),
        ...(text(4) !== '' && { 'x-owner-service-address': text(4) }),
      };
      const proof = readOrRefused([HttpError], () => readOwnerProof(headers));
      if (proof === undefined) return;
      const request = readActionRequest(
        'remove-record',
        { antId: other, ownerAddress: service, undername: 'a' },
        service,
      );
      assert.ok(request.action === 'remove-record');
      const owner = readOrRefused([HttpError], () =>
        verifyOwnerProof(request, proof, { service: id, requireBound: false }),
      );
      assert.equal(owner, undefined, 'nobody signed this');
    },
  },
  {
    name: 'upload-tags',
    seeds: () => [
      '[{"name":"App","value":"x"},{"name":"Content-Type","value":"text/plain"}]\0image/png',
      `[{"name":"x-approve-payment","value":"${id}"},{"name":"x-amount","value":"5"},{"name":"x-expires-seconds","value":"60"}]\0`,
      `[{"name":"x-delete-payment-approval","value":"${id}"},{"name":"x-service-address","value":"${id}"}]\0`,
    ],
    run(input) {
      const text = textsOf(input);
      const tags = readOrRefused([HttpError], () => readUserTags(text(0), text(1)));
      if (tags !== undefined) readOrRefused([HttpError], () => unsignedItemBytes(100, tags));
      const json = tryParseJson(text(0));
      if (!Array.isArray(json)) return;
      const given = json.flatMap((tag: unknown) => {
        const { name, value } = (tag ?? {}) as Record<string, unknown>;
        return typeof name === 'string' && typeof value === 'string' ? [{ name, value }] : [];
      });
      for (const requireBound of [false, true]) {
        const order = readOrRefused([HttpError], () =>
          readApprovalTags(given, other, { services: [id], requireBound }),
        );
        if (order?.kind === 'approve') assert.ok(order.amount > 0n);
      }
    },
  },
  {
    name: 'amounts',
    seeds: () => ['1000', '0.5', 'bytes\x005000', 'credits\x001.25', '1e3', '-1.5e-7', 'lease'],
    run(input) {
      const text = textsOf(input);
      const one = text(0);
      const bytes = readOrRefused([HttpError], () => parseByteCount(one));
      if (bytes !== undefined) assert.ok(Number.isSafeInteger(bytes) && bytes >= 0);
      const credits = readOrRefused([InvalidAmount], () => parseCredits(one));
      if (credits !== undefined) assert.ok(credits > 0n);
      const wanted = parseWanted(text(0), text(1));
      if (wanted?.kind === 'credits') assert.ok(wanted.winc > 0n);
      if (wanted?.kind === 'bytes') assert.ok(wanted.bytes > 0);
      const decimal = parseDecimal(one);
      // With an exponent a few digits make more than are read without one.
      const again = decimal === undefined ? undefined : parseDecimal(toText(decimal));
      if (decimal !== undefined && again !== undefined) assert.equal(toText(again), toText(decimal));
      readReferer(one, 1_000);
      readOrRefused([HttpError], () => readPage({ limit: one, before: text(1) }));
      readAuditQuery({ since: one, limit: text(1) });
      readOrRefused([BadQuery], () => readTypes(one));
    },
  },
  {
    name: 'token',
    seeds: () => [signToken('another secret', { walletAddress: id, exp: 9e9, aud: 'balance' })],
    run(input) {
      assert.equal(readToken(secret, input.toString('utf8'), 1), undefined, 'nobody signed this');
    },
  },
  {
    name: 'moderation',
    seeds: () => [
      `{"type":"txid","value":"${id}","reason":"because","blockedBy":"me"}`,
      `{"version":1,"entries":[{"type":"arns","value":"a_name","reason":"x","blockedAt":"2026-01-01T00:00:00Z","blockedBy":"y","resolvedTxId":"${id}","place":{"root":"${id}","start":1,"end":2}}]}`,
    ],
    run(input) {
      const text = input.toString('utf8');
      readOrRefused([HttpError], () => readBlock(tryParseJson(text)));
      // Declared as a plain error with a sentence: the operator's own file.
      try {
        parseBlocklist(text);
      } catch (error) {
        assert.ok(
          error instanceof SyntaxError || (error instanceof Error && error.name === 'Error'),
          String(error),
        );
      }
    },
  },
  {
    name: 'card-requests',
    seeds: () => [
      'line_items[0][price]=x&metadata[a]=b&expand[]=data&mode=payment',
      "status:'succeeded' AND metadata['order']:\"6\" AND amount>500",
      '-currency:"usd" OR created<5',
      'payment_intent:metadata.order=6735',
    ],
    run(input) {
      const text = input.toString('utf8');
      readOrRefused([FormError], () => parseForm(text));
      readOrRefused([CardApiError], () =>
        parseSearch(text, { status: 'text', amount: 'number', currency: 'text', paid: 'flag' }),
      );
      readOrRefused([UsageError], () => readChanges([text]));
      assert.equal(Reflect.get({}, 'polluted'), undefined);
    },
  },
  {
    name: 'settings',
    longest: 2_000,
    seeds: () => [
      'PORT\x003000',
      'BLOB_STORE_URL\0s3://key:secret@host:9000/bucket/prefix?region=x',
      'DATABASE_URL\0postgres://user:pass@a:5432,b:5432/db?sslmode=disable',
      'STATIC_RATES\0{"arweave":{"usd":6.2}}',
      'ANS104_INDEX_FILTER\0{"always":true}',
      'WORLD\0public',
      'OTEL_EXPORTER_OTLP_HEADERS\0a=b,c=%20d',
      `SOLANA_SIGNER_SECRET_KEY\0${'1'.repeat(64)}`,
    ],
    run(input) {
      const text = textsOf(input);
      const [name, value] = [text(0), text(1)];
      const environment = { [name in variables ? name : 'WORLD']: value };
      const config = readOrRefused([ConfigError], () => readConfig(environment));
      if (config !== undefined) assert.ok(config.DATA_DIR.length > 0);
      const isSecret = name === 'STRIPE_SECRET_KEY' && value.trim().length >= 8;
      const shown = createRedactor(environment)(`before ${value} after`);
      if (isSecret) assert.ok(!shown.includes(value.trim()));
      nearestName(name.slice(0, 60), Object.keys(variables));
      readOrRefused([StartupError], () => parseS3Url(value));
      assert.ok(!redactUrl('https://user:hidden-word@host/').includes('hidden-word'));
      redactUrlsInText(value);
      redactUrlsInJson(value, ['key']);
      readOrRefused([StartupError], () => parseHeaders(value));
      readOrRefused([StartupError], () => networks('VARIABLE', value.split(',')));
      readOrRefused([StartupError], () => readManifest(value, 'b'));
      readOrRefused([StartupError], () => parseSecretKey(value));
      readOrRefused([StartupError], () => parseKey(value, 'here'));
    },
  },
  {
    name: 'arguments',
    seeds: () => ['upload\0file.txt\0--tag\0a=b\0--json', '--count\x005\0-x\0--', `get\0-${id.slice(1)}`],
    run(input) {
      const args = input.toString('utf8').split('\0').slice(0, 40);
      const options = {
        tag: { type: 'string', multiple: true },
        count: { type: 'string' },
        json: { type: 'boolean' },
      } as const;
      try {
        const { values, positionals } = readArguments({ args, options, allowPositionals: true });
        for (const tag of values.tag ?? []) readOrRefused([UsageError], () => parseTag(tag));
        assert.ok(positionals.every((one) => args.includes(one)));
      } catch (error) {
        // What the library says of an option that there is not.
        assert.match(String(error instanceof Error ? Reflect.get(error, 'code') : error), /^ERR_PARSE_ARGS_/);
      }
    },
  },
];
