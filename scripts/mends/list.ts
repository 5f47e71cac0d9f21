/**
 * Every mend that keeps somebody's credits, names, history or origin, or keeps readable what is published and unreadable
 * what is blocked, or what operators are told: how to take it out, and which test then fails.
 */

export interface Mend {
  /** What a stranger could do without it, or what goes wrong. */
  readonly what: string;
  readonly undo: readonly {
    /** From the root of the repository. */
    readonly file: string;
    /** Occurs exactly once. */
    readonly find: string;
    readonly put: string;
  }[];
  readonly fails: Check;
}

/**
 * A test file, a search of a fuzz target, a run of the stranger that finds something within so many inputs or requests, or runs
 * of the simulated world of which one breaks.
 */
export type Check =
  | { readonly unit: string }
  | { readonly fuzz: { readonly target: string; readonly runs: number } }
  | {
      readonly simulation: {
        /** The first seed; undefined: fresh ones. */
        readonly from?: number;
        readonly minutes: number;
        /** Of this scenario only. */
        readonly only: string;
        /** The only faults, where several must come together. */
        readonly faults?: string;
      };
    }
  | {
      readonly strangers: {
        readonly seed: number;
        readonly requests: number;
        /** Further arguments, for example `--bound`. */
        readonly options?: readonly string[];
      };
    };

const fuzz = (target: string): Check => ({ fuzz: { target, runs: 200_000 } });

/** Long enough that what is open is found from any seed; a run ends with the first thing it finds. */
const stranger = (seed: number, ...options: string[]): Check => ({
  strangers: { seed, requests: 12_000, options },
});

/** Fresh seeds of the simulated world until one breaks. */
const simulation = (only: string, faults?: string): Check => ({
  simulation: { minutes: 9, only, ...(faults !== undefined && { faults }) },
});

export const mends: readonly Mend[] = [
  {
    what: 'turn a published Ethereum item into a second one, charged to its signer, by its recovery byte',
    undo: [
      {
        file: 'src/wallets/ethereum/personal-message.ts',
        find: 'const recovery = v >= 27 ? v - 27 : options.allowRawRecovery === true ? v : -1;',
        put: 'const recovery = v >= 27 ? v - 27 : v;',
      },
    ],
    fails: { unit: 'src/wallets/data-items/data-items.test.ts' },
  },
  {
    what: 'have the id of an upload that somebody paid for, by showing the payment again',
    undo: [
      {
        file: 'src/upload/multipart/sessions.ts',
        find: '  if (!isProven) throw uploadErrors.paymentUsed();\n',
        put: '',
      },
    ],
    fails: stranger(101),
  },
  {
    what: 'begin another upload with a payment that began one before',
    undo: [
      {
        file: 'src/upload/multipart/sessions.ts',
        find: 'paid === undefined ? await begunByName(tx, session) : await begunByPayment(tx, paid, now)',
        put: 'paid === undefined ? await begunByName(tx, session) : undefined',
      },
    ],
    fails: stranger(112),
  },
  {
    what: 'have every upload for 95 % of its price',
    undo: [
      {
        file: 'src/payments/x402/read-payment.ts',
        find: 'return value >= least && (await rules.quotes.wasAsked(quote.product, value));',
        put: 'return value >= least;',
      },
    ],
    fails: stranger(102),
  },
  {
    what: 'pay once more for a small item that is stored already',
    undo: [
      {
        file: 'src/upload/intake/intake.ts',
        find: 'const asksFirst = !isSmall || request.prepaid !== undefined;',
        put: 'const asksFirst = !isSmall;',
      },
    ],
    fails: stranger(103),
  },
  {
    what: "call the operator's routes without a key",
    undo: [
      {
        file: 'src/kernel/http/guard.ts',
        find: '        await guard.check(request, reply);\n',
        put: '        if (request.url.startsWith(prefix)) await guard.check(request, reply);\n',
      },
    ],
    fails: stranger(104),
  },
  {
    what: "use an owner's proof again by moving the border between its last field and its nonce",
    undo: [
      {
        file: 'src/names/actions/owner-proof.ts',
        find: '  const uuid = canonicalUuid(proof.nonce);\n  if (uuid === undefined) throw ownerNonceRefused();\n',
        put: '  const uuid = canonicalUuid(proof.nonce) ?? proof.nonce;\n',
      },
      {
        file: 'src/names/actions/owner-proof.ts',
        find: 'keys: [ownerNonceKey(address, uuid), signatureKey(signatureHash(signature))]',
        put: 'keys: [ownerNonceKey(address, uuid)]',
      },
    ],
    fails: stranger(105),
  },
  {
    what: "use an owner's proof for something else, its signature being forgotten",
    undo: [
      {
        file: 'src/names/actions/owner-proof.ts',
        find: 'keys: [ownerNonceKey(address, uuid), signatureKey(signatureHash(signature))]',
        put: 'keys: [ownerNonceKey(address, uuid)]',
      },
    ],
    fails: { unit: 'src/names/actions/owner-proof.test.ts' },
  },
  {
    what: "read a Solana wallet's payments with an item that it published",
    undo: [
      {
        file: 'src/wallets/request-signature.ts',
        find: 'const nonceForm = /^[A-Za-z0-9._:-]{1,64}$/;',
        put: 'const nonceForm = /^[A-Za-z0-9._:-]{1,256}$/;',
      },
    ],
    fails: stranger(106),
  },
  {
    what: 'act with a signature that was shown to read',
    undo: [
      {
        file: 'src/payment/surface.ts',
        find: '    admit: signatures.admit,\n',
        put: '',
      },
    ],
    fails: stranger(107),
  },
  {
    what: 'act at one service with a signature that names another',
    undo: [
      {
        file: 'src/credits/signatures/request-signatures.ts',
        find: '    return named !== undefined && named !== this.service;',
        put: '    return named === null;',
      },
      {
        file: 'src/credits/signatures/request-signatures.ts',
        find: "    return { service: this.service, method: method ?? '', path, contentDigest: digest };",
        put: "    const service = String(request.headers['x-service-address']);\n    return { service, method: method ?? '', path, contentDigest: digest };",
      },
    ],
    fails: stranger(108, '--bound'),
  },
  {
    what: 'act with a signature that is bound to another path or body',
    undo: [
      {
        file: 'src/names/routes/request-signer.ts',
        find: '  if (signer.bound && !signatures.coversBody(request, body)) throw unboundSignature();\n',
        put: '',
      },
    ],
    fails: { unit: 'src/names/signatures.test.ts' },
  },
  {
    what: 'lend credits at one service with an item that names another',
    undo: [
      {
        file: 'src/upload/intake/approval-tags.ts',
        find: "return services.includes(service) ? undefined : 'The item is for another service';",
        put: 'return services.includes(service) ? undefined : undefined;',
      },
    ],
    fails: stranger(109, '--bound'),
  },
  {
    what: 'have somebody else owe what a card took back for a name',
    undo: [
      {
        file: 'src/names/cards/reversals.ts',
        find: 'export const debtorOf = ({ debtor }: CardQuote): Debtor => debtor ?? LOSS_ACCOUNT;',
        put: 'export const debtorOf = ({ debtor, address, addressType }: CardQuote): Debtor =>\n  debtor ?? { address, addressType };',
      },
    ],
    fails: stranger(110),
  },
  {
    what: 'name the wallet to credit for the USDC of somebody else in the same transaction',
    undo: [
      {
        file: 'src/payments/chain/evm.ts',
        find: "  if (typeof transaction.to !== 'string' || address(transaction.to) !== contract) return undefined;\n  if (address(requireText(transaction, 'from')) !== sender) return undefined;\n",
        put: '',
      },
      {
        file: 'src/payments/chain/evm.ts',
        find: '  if (!data.subarray(0, call.length).equals(call)) return undefined;\n',
        put: '',
      },
    ],
    fails: stranger(111),
  },
  {
    what: 'fill the disk below its floor with many bodies at once',
    undo: [
      {
        file: 'src/storage/disk-space.ts',
        find: 'this.#bodyFree - unseen - this.#reserved - bytes',
        put: 'this.#bodyFree - unseen - bytes',
      },
    ],
    fails: { unit: 'src/storage/disk-space.test.ts' },
  },
  {
    what: 'park bytes without end by sending a part again and again',
    undo: [
      {
        file: 'src/upload/multipart/put-part.ts',
        find: '  if (replaced !== undefined) await freeBlobs(tx, [asSegment(replaced)], now);\n',
        put: '',
      },
    ],
    fails: { unit: 'src/upload/multipart/part-budget.test.ts' },
  },
  {
    what: 'fill the memory with made-up questions for prices of names',
    undo: [
      {
        file: 'src/names/routes/arns-price.ts',
        find: 'const question = JSON.stringify([purchase, processId]);',
        put: 'const question = request.url;',
      },
    ],
    fails: { unit: 'src/names/routes/arns-price.test.ts' },
  },
  {
    what: 'use up a promo code for everybody with quotes that nobody pays',
    undo: [
      {
        file: 'src/pricing/catalogue/promo.ts',
        find: "SELECT COUNT(*) AS uses FROM pricing_promo_uses WHERE catalogue_id = ? AND state = 'used'",
        put: 'SELECT COUNT(*) AS uses FROM pricing_promo_uses WHERE catalogue_id = ?',
      },
    ],
    fails: { unit: 'src/pricing/service.test.ts' },
  },
  {
    what: 'keep everybody from reporting payments with made-up transactions',
    undo: [
      {
        file: 'src/payments/chain/chain-payments.ts',
        find: '    await this.#limits.count(client);\n',
        put: '',
      },
    ],
    fails: { unit: 'src/payment/routes/report-transaction.test.ts' },
  },
  {
    what: 'hold up all requests with a new query of very many fields',
    undo: [
      {
        file: 'src/gateway/graphql/queries.ts',
        find: 'if (fields <= maxCompiledFields && (isRepeated || isFaster)) {',
        put: 'if (fields > 0) {',
      },
    ],
    fails: { unit: 'src/gateway/graphql/queries.test.ts' },
  },
  {
    what: 'have more actions wait than the limit, by asking for all at once',
    undo: [
      {
        file: 'src/names/actions/create.ts',
        find: '      if (ownerSigns && (await awaitingCountIn(tx, payer.address)) >= maxOpen) {\n        throw tooManyOpenActions(maxOpen);\n      }\n',
        put: '',
      },
    ],
    fails: { unit: 'src/names/signatures.test.ts' },
  },
  {
    what: 'a bundle is paid for twice when one node lacks it and another is away',
    undo: [
      {
        file: 'src/outside/look-up.ts',
        find: '  if (failure !== undefined) return failure;\n',
        put: '',
      },
    ],
    fails: { unit: 'src/upload/bundler/confirm.test.ts' },
  },
  {
    what: 'a bundle that a node may have taken is signed and paid for anew',
    undo: [
      {
        file: 'src/upload/bundler/steps.ts',
        find: 'if (wasPosted && !isAnchorDead(bundle, known.at)) {',
        put: 'if (false) {',
      },
    ],
    fails: { unit: 'src/upload/bundler/pay-once.test.ts' },
  },
  {
    what: 'an item is given up after one look that does not find its bytes',
    undo: [
      {
        file: 'src/upload/items/missing-blobs.ts',
        find: '{ tries: 8, ms: 4 * 60_000 }',
        put: '{ tries: 1, ms: 0 }',
      },
    ],
    fails: { unit: 'src/upload/bundler/counters.test.ts' },
  },
  {
    what: 'background work that is asked for while it runs is forgotten',
    undo: [
      {
        file: 'src/kernel/background/wakeable-task.ts',
        find: 'if (!this.#stopped && !isPausing) this.#due(delayMs);',
        put: 'if (!this.#stopped && !isPausing && this.#running === undefined) this.#due(delayMs);',
      },
    ],
    fails: { unit: 'src/kernel/background/wakeable-task.test.ts' },
  },
  {
    what: 'a name transaction that landed is refunded because a node is behind',
    undo: [
      {
        file: 'src/names/chain/delivery.ts',
        find: "everywhere.state === 'absent' && everywhere.at >= slot",
        put: "everywhere.state === 'absent'",
      },
    ],
    fails: { unit: 'src/names/chain/delivery.test.ts' },
  },
  {
    what: 'a lease is paid for and not extended, because a node is behind what its process has just seen',
    undo: [
      {
        file: 'src/registry/chain.ts',
        find: "if (answer.state === 'found' && answer.value.confirmed) reach",
        put: "if (answer.state === 'found' && answer.value.finalized) reach",
      },
    ],
    fails: { unit: 'src/names/chain/delivery.test.ts' },
  },
  {
    what: 'a lease is paid for and not extended, because a node is behind what another process has just seen',
    undo: [
      {
        file: 'src/names/chain/shared-slot.ts',
        find: '  if (row !== undefined) chain.reach(row.slot);\n',
        put: '',
      },
    ],
    fails: { unit: 'src/names/actions/finish.test.ts' },
  },
  {
    what: 'a payment that failed and is confirmed later is kept without credits',
    undo: [
      {
        file: 'src/payments/chain/chain-payments.ts',
        find: 'if (isFinal(row) || this.#now() <',
        put: "if (row.state !== 'pending' || this.#now() <",
      },
    ],
    fails: { unit: 'src/payment/routes/report-transaction.test.ts' },
  },
  {
    what: 'the first purchases that come together are refused',
    undo: [
      {
        file: 'src/names/actions/token-lists.ts',
        find: '  return context.locks.hold(serviceList, async () => {\n    const reserved = await reservedPlaces(context.sql);\n    const { room } = await ensureRoom(context, context.key.address, reserved);\n    return store(room);\n  });\n',
        put: '  return (async () => {\n    const { room } = await ensureRoom(context, context.key.address, new Map());\n    return store(room);\n  })();\n',
      },
    ],
    fails: { unit: 'src/names/several-services.test.ts' },
  },
  {
    what: 'a name transaction is sent although its credits were given back',
    undo: [
      {
        file: 'src/names/actions/perform.ts',
        find: '  if (!isNext) throw stillBusy();\n  return settleAlone',
        put: '  return settleAlone',
      },
    ],
    fails: { unit: 'src/names/several-services.test.ts' },
  },
  {
    what: 'an upload is finalized twice when a lease lapses',
    undo: [
      {
        file: 'src/upload/multipart/finalizer.ts',
        find: 'guard: (tx) => keepClaim(tx, claim)',
        put: 'guard: async () => {}',
      },
    ],
    fails: { unit: 'src/upload/multipart/claims.test.ts' },
  },
  {
    what: 'sell real storage for play money',
    undo: [
      {
        file: 'src/cli/stack/world.ts',
        find: '  ratesThatStandStill,\n  cardKeys,\n',
        put: '',
      },
    ],
    fails: { unit: 'src/cli/stack/world.test.ts' },
  },
  {
    what: 'have the wallet that holds AR sign what strangers choose',
    undo: [
      {
        file: 'src/cli/stack/service-keys.ts',
        find: "    return this.#rsaKey('DATA_KEY_FILE', 'data-key.pem', () => this.#makeFastKey('data key'));\n",
        put: '    return this.wallet();\n',
      },
    ],
    fails: { unit: 'src/cli/stack/service-wallet.test.ts' },
  },
  {
    what: 'have a page of one’s own run as the operator at the gateway, and read what the apex stored',
    undo: [
      {
        file: 'src/gateway/content/answer/answer.ts',
        find: '  isolate(headers, contentType, options.origin);\n',
        put: '',
      },
    ],
    fails: { unit: 'src/gateway/content/names/serving.test.ts' },
  },
  {
    what: 'have a page served in the operator’s origin that was kept ready for its own',
    undo: [
      {
        file: 'src/gateway/content/serve.ts',
        find: 'options.origin}/',
        put: "''}/",
      },
    ],
    fails: { unit: 'src/gateway/content/names/serving.test.ts' },
  },
  {
    what: 'have a script of one’s own answer for the gateway’s pages as a service worker',
    undo: [
      {
        file: 'src/gateway/content/routes.ts',
        find: '    else done(serviceWorkerRefused());\n',
        put: '    else done();\n',
      },
    ],
    fails: { unit: 'src/gateway/content/names/serving.test.ts' },
  },
  {
    what: 'have a page of one’s own run as the operator at the router',
    undo: [
      {
        file: 'src/router/content/headers.ts',
        find: '  isolate(headers, opened.contentType, accessPath.origin);\n',
        put: '',
      },
    ],
    fails: { unit: 'src/router/origins.test.ts' },
  },
  {
    what: 'have a script of one’s own answer for the router’s pages as a service worker',
    undo: [
      {
        file: 'src/router/content/serve.ts',
        find: '      throw serviceWorkerRefused();\n',
        put: '',
      },
    ],
    fails: { unit: 'src/router/origins.test.ts' },
  },
  {
    what: 'have everybody told that content is absent, by a header that keeps the gateway from asking others',
    undo: [
      {
        file: 'src/gateway/content/sources/ask.ts',
        find: "      states.add('not-asked');\n",
        put: '',
      },
    ],
    fails: { unit: 'src/gateway/content/content.test.ts' },
  },
  {
    what: 'have everybody told that a name points nowhere, by such a header',
    undo: [
      {
        file: 'src/gateway/content/names/resolver.ts',
        find: '      if (source.asks?.(journey) === false) {\n        askedAll = false;\n',
        put: '      if (source.asks?.(journey) === false) {\n',
      },
    ],
    fails: { unit: 'src/gateway/content/names/resolver.test.ts' },
  },
  {
    what: 'keep a gateway from asking others for what it was not to ask them for in one request',
    undo: [
      {
        file: 'src/gateway/content/content.ts',
        find: "    if (found === 'absent' || isOwn(journey)) this.#descriptions",
        put: '    this.#descriptions',
      },
    ],
    fails: { unit: 'src/gateway/content/content.test.ts' },
  },
  {
    what: 'have caches keep that content is not there although not everybody was asked',
    undo: [
      {
        file: 'src/delivery/availability.ts',
        find: "  'not-asked': { status: 404, cacheControl: 'no-store' },",
        put: "  'not-asked': { status: 404, cacheControl: 'public, max-age=60, must-revalidate' },",
      },
    ],
    fails: { unit: 'src/delivery/availability.test.ts' },
  },
  {
    what: 'content is absent because another gateway did not look everywhere',
    undo: [
      {
        file: 'src/gateway/content/sources/http-bytes.ts',
        find: "    if (state === 'not-asked' && options.asksOthers === true) throw new Unavailable(state);\n",
        put: '',
      },
    ],
    fails: { unit: 'src/gateway/content/content.test.ts' },
  },
  {
    what: 'a name points nowhere because another gateway did not look everywhere',
    undo: [
      {
        file: 'src/gateway/content/names/sources.ts',
        find: "        if (state === 'not-asked') throw new Unavailable(state);\n",
        put: '',
      },
    ],
    fails: { unit: 'src/gateway/content/names/resolver.test.ts' },
  },
  {
    what: 'have caches keep the 404 of a router whose gateways did not all look',
    undo: [
      {
        file: 'src/router/gateways/hedged-ask.ts',
        find: "      const isAbsent = askedAll && together(this.#states) === 'absent';\n",
        put: '      const isAbsent = true;\n',
      },
    ],
    fails: { unit: 'src/router/availability.test.ts' },
  },
  {
    what: 'the router’s HEAD believes one gateway about a hash that the one which has the content denies',
    undo: [
      {
        file: 'src/router/content/verified.ts',
        find: 'search.settleUnread(upstream)',
        put: 'search.settle(upstream)',
      },
    ],
    fails: { unit: 'src/router/liars.test.ts' },
  },
  {
    what: 'the router believes one gateway about the type of content that another has',
    undo: [
      {
        file: 'src/router/content/expectation.ts',
        find: 'const voices = served === undefined ? votes : [...votes, voteOf(served)];',
        put: 'const voices = votes;',
      },
    ],
    fails: { unit: 'src/router/liars.test.ts' },
  },
  {
    what: 'the router asks only those for signed fields who do not have the content',
    undo: [
      {
        file: 'src/router/content/expectation.ts',
        find: '[...new Set([...serving, ...this.#verifiers, ...this.#routing])]',
        put: '[...new Set([...this.#verifiers, ...this.#routing])]',
      },
    ],
    fails: { unit: 'src/router/liars.test.ts' },
  },
  {
    what: 'a reader is cut off where a connection broke after the last byte',
    undo: [
      {
        file: 'src/delivery/download.ts',
        find: 'this.#arrived === this.size ? undefined : await resume(this.#arrived, error)',
        put: 'await resume(this.#arrived, error)',
      },
    ],
    fails: { unit: 'src/delivery/download.test.ts' },
  },
  {
    what: 'HEAD promises what GET cannot give',
    undo: [
      {
        file: 'src/gateway/content/answer/answer.ts',
        find: '      const read = await parts.content.checkReadable(described, asked.spans?.[0].start ?? 0, journey);\n',
        put: '      const read = { trusted: true, hops: 0 };\n',
      },
    ],
    fails: { unit: 'src/gateway/content/availability.test.ts' },
  },
  {
    what: 'HEAD promises what the last read did not find',
    undo: [
      {
        file: 'src/gateway/content/content.ts',
        find: "    if (last === 'failed' || (located !== undefined && located.height === undefined)) return undefined;\n",
        put: "    if (last === 'failed') return { trusted: true, hops: 0 };\n    if (located !== undefined && located.height === undefined) return undefined;\n",
      },
    ],
    fails: { unit: 'src/gateway/content/availability.test.ts' },
  },
  {
    what: 'HEAD promises the data of a transaction that waits for its block',
    undo: [
      {
        file: 'src/gateway/content/content.ts',
        find: ' || (located !== undefined && located.height === undefined)) return undefined;',
        put: ') return undefined;',
      },
    ],
    fails: { unit: 'src/gateway/content/content.test.ts' },
  },
  {
    what: 'data that came with a transaction is not read before its block',
    undo: [
      {
        file: 'src/gateway/routes/post.ts',
        find: '  await keepInline(id, data);\n',
        put: '',
      },
    ],
    fails: { unit: 'src/gateway/content/availability.test.ts' },
  },
  {
    what: 'have caches keep the data of a transaction that may never be mined',
    undo: [
      {
        file: 'src/gateway/content/answer/cache-control.ts',
        find: "    if (what.pending) return 'no-store';\n",
        put: '',
      },
    ],
    fails: { unit: 'src/gateway/content/availability.test.ts' },
  },
  {
    what: 'content that is indexed is absent because nobody has its bytes now',
    undo: [
      {
        file: 'src/gateway/content/content.ts',
        find: '    throw new Unavailable(stateOf(described, found));\n',
        put: '    throw new Unavailable(found);\n',
      },
    ],
    fails: { unit: 'src/gateway/content/content.test.ts' },
  },
  {
    what: 'the router’s HEAD promises what GET refuses for want of proof',
    undo: [
      {
        file: 'src/router/content/verified.ts',
        find: '  if (expectation === undefined) throw unprovenOf(id, upstream);\n',
        put: "  if (expectation === undefined) {\n    return { size: lengthOf(upstream), from: upstream.gateway.origin, contentType: 'text/plain', verified: false } as Opened;\n  }\n",
      },
    ],
    fails: { unit: 'src/router/availability.test.ts' },
  },
  {
    what: 'a bundle is not read because of bytes after its last item',
    undo: [
      {
        file: 'src/gateway/unbundle/read-bundle.ts',
        find: 'const lenient = { lenient: true };',
        put: 'const lenient = { lenient: false };',
      },
    ],
    fails: { unit: 'src/gateway/unbundle/odd-bundles.test.ts' },
  },
  {
    what: 'a bundle that was given up for such bytes stays so',
    undo: [
      {
        file: 'src/gateway/migrations.ts',
        find: "last_error IN ('there are bytes after the last item', ",
        put: 'last_error IN (',
      },
    ],
    fails: { unit: 'src/gateway/unbundle/unbundler.test.ts' },
  },
  {
    what: 'have a blocked item out of its bundle, by bytes after the last item of that',
    undo: [
      {
        file: 'src/delivery/moderation/bundle-list.ts',
        find: 'const lenient = { lenient: true };',
        put: 'const lenient = { lenient: false };',
      },
    ],
    fails: { unit: 'src/delivery/moderation/bundle-list.test.ts' },
  },
  {
    what: 'an item that was asked for before its upload stays absent although it is indexed',
    undo: [
      {
        file: 'src/gateway/content/content.ts',
        find: '    const located = await this.#options.index.locate(id);\n    // Before an absence is believed',
        put: '    const remembered = this.#descriptions.unavailability(id);\n    if (remembered !== undefined) throw new Unavailable(remembered);\n    const located = await this.#options.index.locate(id);\n    // Before an absence is believed',
      },
    ],
    fails: { unit: 'src/gateway/content/availability.test.ts' },
  },
  {
    what: 'an item that was asked for before its upload stays absent until it is indexed',
    undo: [
      {
        file: 'src/gateway/content/content.ts',
        find: '      const own = sources.filter(({ isOther }) => isOther !== true);\n',
        put: '      const own: ContentSource[] = [];\n',
      },
    ],
    fails: { unit: 'src/gateway/content/content.test.ts' },
  },
  {
    what: 'browsers show UTF-8 text from the gateway as windows-1252',
    undo: [
      {
        file: 'src/gateway/content/answer/headers.ts',
        find: 'withCharset(clean.slice(0, 255))',
        put: 'clean.slice(0, 255)',
      },
    ],
    fails: { unit: 'src/gateway/content/names/serving.test.ts' },
  },
  {
    what: 'browsers show UTF-8 text from the router as windows-1252',
    undo: [
      {
        file: 'src/router/content/headers.ts',
        find: '  return withCharset(contentType);\n',
        put: '  return contentType;\n',
      },
    ],
    fails: { unit: 'src/router/origins.test.ts' },
  },
  {
    what: 'gateways that name a charset contradict those that do not',
    undo: [
      {
        file: 'src/router/content/digest-poll.ts',
        find: 'contentType: said === undefined ? undefined : withCharset(said),',
        put: 'contentType: said,',
      },
    ],
    fails: { unit: 'src/router/origins.test.ts' },
  },
  {
    what: 'send money to an empty address that the upload service names',
    undo: [
      {
        file: 'src/cli/stack/upload.ts',
        find: '...(config.ETHEREUM_ADDRESS && { ethereum: config.ETHEREUM_ADDRESS }),',
        put: "ethereum: config.ETHEREUM_ADDRESS ?? '',",
      },
    ],
    fails: { unit: 'test/e2e/upload-stack.test.ts' },
  },
  {
    what: 'HEAD is 404 where GET is answered',
    undo: [
      {
        file: 'src/kernel/http/methods.ts',
        find: "      if (!own.includes('GET') || own.includes('HEAD')) return;\n",
        put: "      if (!own.includes('GET') || own.includes('HEAD') || route.config?.actsOnGet !== true) return;\n",
      },
    ],
    fails: { unit: 'src/kernel/http/methods.test.ts' },
  },
  {
    what: 'open a payment or take a gift by HEAD',
    undo: [
      {
        file: 'src/kernel/http/methods.ts',
        find: '          ...(acts && { onRequest: refuseHead }),\n',
        put: '',
      },
    ],
    fails: { unit: 'src/kernel/http/methods.test.ts' },
  },
  {
    what: 'other methods on a path that exists are told that it does not',
    undo: [
      {
        file: 'src/kernel/http/server.ts',
        find: '      if (allowed.length > 0) return void done(methods.refusal(request, allowed));\n',
        put: '',
      },
    ],
    fails: { unit: 'src/kernel/http/methods.test.ts' },
  },
  {
    what: 'an item of no bytes loses its type on the way through another gateway',
    undo: [
      {
        file: 'src/gateway/content/sources/http-bytes.ts',
        find: "  if (status === 416 && headers['content-range'] === 'bytes */0' && options.headers.range !== undefined) {",
        put: "  if (status === 416 && headers['content-range'] === 'bytes */0') {\n    return { status: 206, header: (name) => (name === 'content-range' ? 'bytes */0' : undefined), body, discard };\n  }\n  if (status === 416) {",
      },
    ],
    fails: { unit: 'src/gateway/content/content.test.ts' },
  },
  {
    what: 'a size beyond 2^53 has no price at the gateway',
    undo: [
      {
        file: 'src/gateway/routes/node-info.ts',
        find: "    if (!/^[0-9]+$/.test(size)) throw nodeError(400, { error: 'size_must_be_an_integer' });\n",
        put: "    if (!/^[0-9]{1,16}$/.test(size)) throw nodeError(400, { error: 'size_must_be_an_integer' });\n",
      },
    ],
    fails: { unit: 'src/gateway/routes/chain-reads.test.ts' },
  },
  {
    what: 'a size beyond 2^53 has no price at the local node',
    undo: [
      {
        file: 'src/localnet/arweave/routes/info.ts',
        find: "    if (!/^[0-9]+$/.test(text)) throw badRequest('size_must_be_an_integer');\n",
        put: "    if (!/^[0-9]{1,16}$/.test(text)) throw badRequest('size_must_be_an_integer');\n",
      },
    ],
    fails: { unit: 'src/localnet/arweave/node.test.ts' },
  },
  {
    what: 'a query that is sent as text is told that JSON is no JSON',
    undo: [
      {
        file: 'src/gateway/graphql/part.ts',
        find: '        scope.removeAllContentTypeParsers();\n',
        put: "        scope.removeContentTypeParser('application/json');\n",
      },
    ],
    fails: { unit: 'src/gateway/routes/chain-reads.test.ts' },
  },
  {
    what: 'HEAD of a redirect has another head than GET',
    undo: [
      {
        file: 'src/gateway/content/serve.ts',
        find: "return reply.header('content-length', '0').redirect(",
        put: 'return reply.redirect(',
      },
    ],
    fails: { unit: 'src/gateway/content/availability.test.ts' },
  },
  {
    what: 'a frame refuses what is too large in another form than everything else',
    undo: [
      {
        file: 'src/gateway/content/frames.ts',
        find: "      throw new HttpError(413, 'Payload too large');\n",
        put: '      throw error;\n',
      },
    ],
    fails: { unit: 'src/gateway/content/availability.test.ts' },
  },
  {
    what: 'the data of an item is no field of it',
    undo: [
      {
        file: 'src/gateway/routes/tx.ts',
        find: "    if (field === 'data' && located?.kind === 'item') return await sendItemData(request, reply, located);\n",
        put: '',
      },
    ],
    fails: { unit: 'src/gateway/content/availability.test.ts' },
  },
  {
    what: 'settings that exclude each other are not looked at with the others',
    undo: [
      {
        file: 'src/cli/stack/settings.ts',
        find: '    apexOf,\n',
        put: '',
      },
    ],
    fails: { unit: 'src/cli/stack/settings.test.ts' },
  },
  {
    what: 'settings that are wrong are said after the local chains were opened',
    undo: [
      {
        file: 'src/cli/commands/start.ts',
        find: '    checkSettings(config, only);\n',
        put: '',
      },
    ],
    fails: { unit: 'test/e2e/start.test.ts' },
  },
  {
    what: 'clients that choose among the peers of a gateway alone have nobody to choose',
    undo: [
      {
        file: 'src/gateway/routes/gw.ts',
        find: 'others.length > 0 ? others : itself(request)',
        put: 'others',
      },
    ],
    fails: { unit: 'src/gateway/routes/chain-reads.test.ts' },
  },
  {
    what: 'read a blocked item at the upload service',
    undo: [
      {
        file: 'src/upload/items/refuse-blocked.ts',
        find: '    if (this.#list.blocksId(id)) throw uploadErrors.blocked(id);\n',
        put: '',
      },
    ],
    fails: { unit: 'src/upload/items/refuse-blocked.test.ts' },
  },
  {
    what: 'read a copy of blocked content at the upload service',
    undo: [
      {
        file: 'src/upload/items/refuse-blocked.ts',
        find: '    if (list.wantsHashes && list.blocksHash(await this.#hashOf(asked))) throw uploadErrors.blocked(id);\n',
        put: '',
      },
    ],
    fails: { unit: 'src/upload/items/refuse-blocked.test.ts' },
  },
  {
    what: 'read a blocked item out of a bundle that was uploaded as an item',
    undo: [
      {
        file: 'src/upload/items/refuse-blocked.ts',
        find: '    places.replace(await this.#listed(asked));\n',
        put: '',
      },
    ],
    fails: { unit: 'src/upload/items/refuse-blocked.test.ts' },
  },
  {
    what: 'read a blocked item of a nested bundle at the upload service, where its place is known',
    undo: [
      {
        file: 'src/upload/items/refuse-blocked.ts',
        find: '    if (root !== undefined && bundleOffset !== null) {',
        put: '    if (root === id && bundleOffset !== null) {',
      },
    ],
    fails: { unit: 'src/upload/items/refuse-blocked.test.ts' },
  },
  {
    what: 'read a blocked item out of its bundle before that is unbundled',
    undo: [
      {
        file: 'src/gateway/content/answer/answer.ts',
        find: '  if (looking !== undefined) await looking;\n',
        put: '',
      },
      {
        file: 'src/gateway/content/answer/answer.ts',
        find: '  const looking = list.lookInto(described.id, described.located);\n',
        put: '',
      },
    ],
    fails: { unit: 'src/gateway/admin/routes/moderation.test.ts' },
  },
  {
    what: 'read a blocked item as chunks or data of its bundle before that is unbundled',
    undo: [
      {
        file: 'src/gateway/routes/answers.ts',
        find: '  await blocklist.lookInto(id, located);\n',
        put: '',
      },
    ],
    fails: { unit: 'src/gateway/admin/routes/moderation.test.ts' },
  },
  {
    what: 'read a blocked item out of its bundle at the router',
    undo: [
      {
        file: 'src/router/content/verified.ts',
        find: '    if (region !== undefined) refusals.parts(accessPath.id, region, spans);\n',
        put: '',
      },
    ],
    fails: { unit: 'src/router/moderation/every-way.test.ts' },
  },
  {
    what: 'read a blocked item out of its bundle at a router without verification',
    undo: [
      {
        file: 'src/router/content/unverified.ts',
        find: '    if (region !== undefined && answer.status !== 416) refusals.parts(id, region, spansOf(answer));\n',
        put: '',
      },
    ],
    fails: { unit: 'src/router/moderation/every-way.test.ts' },
  },
  {
    what: 'read a blocked item out of its bundle at the router once the bundle was read whole',
    undo: [
      {
        file: 'src/router/content/ready.ts',
        find: '    refusals.parts(id, region, undefined);\n',
        put: '',
      },
    ],
    fails: { unit: 'src/router/moderation/every-way.test.ts' },
  },
  {
    what: 'read blocked bytes as chunks at the router',
    undo: [
      {
        file: 'src/router/routes/chain.ts',
        find: '      if (chunk !== undefined) await this.#refuseChunk(chunk, () => reply.raw.destroyed);\n',
        put: '',
      },
    ],
    fails: { unit: 'src/router/moderation/every-way.test.ts' },
  },
  {
    what: 'read a chunk at the router of which no gateway tells the transaction',
    undo: [
      {
        file: 'src/router/routes/chain.ts',
        find: "      throw gatewayError('No gateway tells which transaction the chunk belongs to');\n",
        put: '      return;\n',
      },
    ],
    fails: { unit: 'src/router/moderation/every-way.test.ts' },
  },
  {
    what: 'read a blocked item as data of its bundle at the router',
    undo: [
      {
        file: 'src/router/routes/chain.ts',
        find: "      if (id !== undefined && data === 'whole') await this.#options.refuseData(id);\n",
        put: '',
      },
    ],
    fails: { unit: 'src/router/moderation/every-way.test.ts' },
  },
  {
    what: 'read a blocked item in the JSON of its bundle’s transaction at the router',
    undo: [
      {
        file: 'src/router/routes/chain.ts',
        find: "      if (data !== undefined && data !== '') await refuseData(carriesData);\n",
        put: '',
      },
    ],
    fails: { unit: 'src/router/moderation/every-way.test.ts' },
  },
  {
    what: 'be sent by the router to a gateway that serves what is blocked here',
    undo: [
      {
        file: 'src/router/content/serve.ts',
        find: '    if (!this.#parts.refusals.list.isEmpty) {',
        put: '    if (asked.path === undefined) {',
      },
    ],
    fails: { unit: 'src/router/moderation/every-way.test.ts' },
  },
  {
    what: 'the router forgets with a restart where a blocked item lies',
    undo: [
      {
        file: 'src/router/moderation/blocklist.ts',
        find: '        return id === undefined || entry.place === undefined ? [] : { ...entry.place, id };\n',
        put: '        return [];\n',
      },
    ],
    fails: { unit: 'src/router/moderation/every-way.test.ts' },
  },
  {
    what: 'the bundle of an item stays open that no gateway knew when it was blocked',
    undo: [
      {
        file: 'src/router/moderation/place-finder.ts',
        find: '    for (const id of due) await this.#ask(id);\n',
        put: '',
      },
    ],
    fails: { unit: 'src/router/moderation/every-way.test.ts' },
  },
  {
    what: 'read at the router what its gateway blocks',
    undo: [
      {
        file: 'src/router/surface.ts',
        find: '  const all = unionOf([blocklist, followed].filter((list) => list !== undefined));\n',
        put: '  const all = unionOf([blocklist].filter((list) => list !== undefined));\n',
      },
    ],
    fails: { unit: 'src/router/moderation/every-way.test.ts' },
  },
  {
    what: 'read at the router of one stack what its gateway blocks',
    undo: [
      {
        file: 'src/cli/stack.ts',
        find: "      followed: () => moderation.listFor('router'),\n",
        put: '',
      },
    ],
    fails: { unit: 'test/e2e/upload-stack.test.ts' },
  },
  {
    what: 'read at the upload service of one stack what its gateway blocks',
    undo: [
      {
        file: 'src/cli/stack.ts',
        find: "      blocklist: moderation.listFor('upload'),\n",
        put: '      blocklist: undefined,\n',
      },
    ],
    fails: { unit: 'test/e2e/upload-stack.test.ts' },
  },
  {
    what: 'what gateways refuse is 502 at the router, which clients ask for again and again',
    undo: [
      {
        file: 'src/router/gateways/hedged-ask.ts',
        find: '    if (this.#refused) return contentRefused();\n',
        put: '',
      },
    ],
    fails: { unit: 'src/router/moderation/every-way.test.ts' },
  },
  {
    what: 'read from strangers what the operator’s own gateway refuses',
    undo: [
      {
        file: 'src/router/gateways/hedged-ask.ts',
        find: '        if (this.#asks.isOwn(answer.gateway.origin)) {',
        put: '        if (this.#asks.isOwn(answer.gateway.origin) && this.#asks.gateways === undefined) {',
      },
    ],
    fails: { unit: 'src/router/moderation/every-way.test.ts' },
  },
  {
    what: 'a follower serves what is blocked while the gateway is away after a restart',
    undo: [
      {
        file: 'src/delivery/moderation/follower.ts',
        find: '    if (kept !== undefined) this.#adopt(kept);\n',
        put: '',
      },
    ],
    fails: { unit: 'src/delivery/moderation/follower.test.ts' },
  },
  {
    what: 'a follower starts with nothing to obey',
    undo: [
      {
        file: 'src/delivery/moderation/follower.ts',
        find: '      if (kept === undefined) {',
        put: '      if (kept?.ids.length === 0) {',
      },
    ],
    fails: { unit: 'src/delivery/moderation/follower.test.ts' },
  },
  {
    what: 'the audit of an operator’s call does not say who made it',
    undo: [
      {
        file: 'src/kernel/admin/admin.ts',
        find: '  const who = fingerprintOf(key);\n',
        put: "  const who = '[hidden]';\n",
      },
    ],
    fails: { unit: 'src/gateway/admin/routes/moderation.test.ts' },
  },
  {
    what: 'the audit of a block does not say what was blocked',
    undo: [
      {
        file: 'src/gateway/admin/moderation/live-blocklist.ts',
        find: '{ ...actor, action, kind, value, source, notes, result }',
        put: '{ ...actor, action, result }',
      },
    ],
    fails: { unit: 'src/gateway/admin/routes/moderation.test.ts' },
  },
  {
    what: 'the audit of a prune or export does not say what it was given',
    undo: [
      {
        file: 'src/kernel/admin/admin.ts',
        find: 'given: request.body, ',
        put: '',
      },
    ],
    fails: { unit: 'src/gateway/admin/routes/moderation.test.ts' },
  },
  {
    what: 'have preflights answered for routes that want a key',
    undo: [
      {
        file: 'src/kernel/http/server.ts',
        find: '    options.cors !== false && request.routeOptions.config?.guarded?.preflights !== false;\n',
        put: '    options.cors !== false;\n',
      },
    ],
    fails: { unit: 'src/kernel/http/guard.test.ts' },
  },
  {
    what: 'have a page elsewhere read answers of routes that want a key',
    undo: [
      {
        file: 'src/kernel/http/guard.ts',
        find: '        if (guard.preflights !== true) for (const header of corsHeaders) reply.removeHeader(header);\n',
        put: '',
      },
    ],
    fails: { unit: 'src/kernel/http/guard.test.ts' },
  },
  {
    what: 'try tokens of the router’s moderation without end',
    undo: [
      {
        file: 'src/router/request/bearer.ts',
        find: '    if (!allowed) {',
        put: '    if (!allowed && tokenOf(request) !== token()) {',
      },
    ],
    fails: { unit: 'src/router/request/bearer.test.ts' },
  },
  {
    what: 'block what can be no name',
    undo: [
      {
        file: 'src/gateway/admin/routes/moderation.ts',
        find: '      if (!canBeName(name)) throw badRequest(noName);\n',
        put: '',
      },
    ],
    fails: { unit: 'src/gateway/admin/routes/moderation.test.ts' },
  },
  {
    what: 'prune items without keeping where they lie',
    undo: [
      {
        file: 'src/gateway/chain-index/drop.ts',
        find: '    await keepPlaces(tx, items);\n',
        put: '',
      },
    ],
    fails: { unit: 'src/gateway/chain-index/places.test.ts' },
  },
  {
    what: 'prune items by a time in milliseconds or in the future',
    undo: [
      {
        file: 'src/gateway/admin/routes/state.ts',
        find: '      refuseBadThreshold(indexedAtThreshold);\n',
        put: '',
      },
    ],
    fails: { unit: 'src/gateway/admin/prune.test.ts' },
  },
  {
    what: 'build a band without the items whose records were pruned',
    undo: [
      {
        file: 'src/gateway/published-indexes/bands/source.ts',
        find: '  if (bundles.size === 0) return;\n',
        put: '  if (bundles.size >= 0) return;\n',
      },
    ],
    fails: { unit: 'src/gateway/admin/prune.test.ts' },
  },
  {
    what: 'publish a band that lost records of the one it replaces',
    undo: [
      {
        file: 'src/gateway/published-indexes/bands/build.ts',
        find: '      if (allowFewer) return true;\n',
        put: '      return true;\n',
      },
    ],
    fails: { unit: 'src/gateway/admin/prune.test.ts' },
  },
  {
    what: 'retire a band for a successor that lacks its records',
    undo: [
      {
        file: 'src/gateway/published-indexes/subscriber/subscriber.ts',
        find: '        if (await this.#hasMore(target, name, offered)) {',
        put: '        if ((await this.#hasMore(target, name, offered)) && false) {',
      },
    ],
    fails: { unit: 'src/gateway/published-indexes/subscriber/subscriber.test.ts' },
  },
  {
    what: 'read a bundle again without the bundles in it',
    undo: [
      {
        file: 'src/gateway/unbundle/unbundler.ts',
        find: '          again: again === 1,\n',
        put: '          again: again === 7,\n',
      },
    ],
    fails: { unit: 'src/gateway/admin/prune.test.ts' },
  },
  {
    what: 'have every row of an export twice by exporting the same heights again',
    undo: [
      {
        file: 'src/gateway/export/dataset.ts',
        find: 'const kept = (before?.partitions ?? []).filter(({ from }) => !replaced.has(from));',
        put: 'const kept = before?.partitions ?? [];',
      },
    ],
    fails: { unit: 'test/long/export-dataset.test.ts' },
  },
  {
    what: 'name the last partition of an export by the height of the moment',
    undo: [
      {
        file: 'src/gateway/export/grid.ts',
        find: 'yield { from: at, to: at + size - 1 };',
        put: 'yield { from: at, to: Math.min(at + size - 1, to) };',
      },
      {
        file: 'src/gateway/export/grid.ts',
        find: 'to === from + size - 1;',
        put: 'to < from + size;',
      },
    ],
    fails: { unit: 'test/long/export-dataset.test.ts' },
  },
  {
    what: 'lose exported rows by exporting again after a prune',
    undo: [
      {
        file: 'src/gateway/export/write.ts',
        find: '    if (indexed >= written.records) return true;\n',
        put: '    if (indexed >= 0) return true;\n',
      },
    ],
    fails: { unit: 'test/long/export-dataset.test.ts' },
  },
  {
    what: 'leave out of an export for ever what was indexed late',
    undo: [
      {
        file: 'src/gateway/export/write.ts',
        find: 'if (resume && isAsAsked && indexed <= written.records) return false;',
        put: 'if (resume && isAsAsked) return false;',
      },
    ],
    fails: { unit: 'test/long/export-dataset.test.ts' },
  },
  {
    what: 'be told that an export of nothing went up to the height before its start',
    undo: [
      {
        file: 'src/gateway/export/exporter.ts',
        find: 'if (request.endHeight < startHeight) return {};',
        put: 'if (request.endHeight < startHeight) return { exportedToHeight: request.endHeight };',
      },
    ],
    fails: { unit: 'test/long/export-dataset.test.ts' },
  },
  {
    what: 'a running export cannot be cancelled',
    undo: [
      {
        file: 'src/gateway/admin/exports.ts',
        find: '      () => void exporter.cancel(),\n',
        put: '',
      },
    ],
    fails: { unit: 'src/gateway/admin/exports.test.ts' },
  },
  {
    what: 'an export cannot be cancelled by way of another process',
    undo: [
      {
        file: 'src/gateway/admin/shared-job.ts',
        find: '    if (row?.cancelled !== 0) this.#cancel();\n',
        put: '',
      },
    ],
    fails: { unit: 'src/gateway/admin/shared-job.test.ts' },
  },
  {
    what: 'a file that is changed on disk while the process runs is served as proven',
    undo: [
      {
        file: 'src/storage/blobs/disk/stamp.ts',
        find: '    one.ctimeMs === other.ctimeMs &&\n    one.mtimeMs === other.mtimeMs &&\n    one.ino === other.ino &&\n',
        put: '',
      },
    ],
    fails: { unit: 'src/storage/blobs/cache/cache.test.ts' },
  },
  {
    what: 'a file that is changed while it is read ends as if it were whole',
    undo: [
      {
        file: 'src/storage/blobs/disk/reader.ts',
        find: '      if (position >= end) await this.check();\n',
        put: '',
      },
    ],
    fails: { unit: 'src/storage/blobs/cache/cache.test.ts' },
  },
  {
    what: 'content that is changed on disk while it is sent looks complete',
    undo: [
      {
        file: 'src/delivery/send.ts',
        find: '{ ...options, check: () => reader.check() }',
        put: 'options',
      },
    ],
    fails: { unit: 'src/delivery/send.test.ts' },
  },
  {
    what: 'bits that rot in a cache are served for ever',
    undo: [
      {
        file: 'src/storage/blobs/cache/cache.ts',
        find: '      if (found?.isSound === false) await this.#removeDamaged(digest);\n',
        put: '',
      },
    ],
    fails: { unit: 'src/storage/scrub.test.ts' },
  },
  {
    what: 'a damaged upload stays damaged when the same bytes are uploaded again',
    undo: [
      {
        file: 'src/storage/blobs/disk/store.ts',
        find: 'if (found?.size !== size || this.#proofs.isDoubtful(digest, found)) return false;',
        put: 'if (found?.size !== size) return false;',
      },
    ],
    fails: { unit: 'src/storage/scrub.test.ts' },
  },
  {
    what: 'a published index file that was replaced is served as what was signed',
    undo: [
      {
        file: 'src/gateway/published-indexes/publication/pinned-files.ts',
        find: 'const stamp = await this.#proofs.check(sha256, handle.fd);',
        put: 'const stamp = files.fstatNow(handle.fd);',
      },
    ],
    fails: { unit: 'src/gateway/published-indexes/routes/indexes.test.ts' },
  },
  {
    what: 'a published index file that is changed while it is sent looks complete',
    undo: [
      {
        file: 'src/gateway/published-indexes/routes/send-file.ts',
        find: ', { check: pinned.check }',
        put: '',
      },
    ],
    fails: { unit: 'src/gateway/published-indexes/routes/send-file.test.ts' },
  },
  {
    what: 'a published index file that rotted keeps its name, and is not replaced',
    undo: [
      {
        file: 'src/gateway/published-indexes/publication/pinned-files.ts',
        find: '      if (!isSound) await this.#remove(sha256);\n',
        put: '',
      },
    ],
    fails: { unit: 'src/gateway/published-indexes/publication/pinned-files.test.ts' },
  },
  {
    what: 'a slow gateway that is overtaken each time is asked first each time',
    undo: [
      {
        file: 'src/router/gateways/strategy.ts',
        find: "if (name === 'round-robin') return { first: turns(), next: turns() };",
        put: "const both = turns();\n  if (name === 'round-robin') return { first: both, next: both };",
      },
    ],
    fails: { unit: 'src/router/gateways/hedged-ask.test.ts' },
  },
  {
    what: 'a hedge or retry takes a turn of its gateway',
    undo: [
      {
        file: 'src/router/gateways/hedged-ask.ts',
        find: "isFirst ? 'first' : 'next'",
        put: "'first'",
      },
    ],
    fails: { unit: 'src/router/gateways/hedged-ask.test.ts' },
  },
  {
    what: 'no metric names a gateway that lied',
    undo: [
      {
        file: 'src/router/metrics.ts',
        find: '  metrics.watchLiars(() => gateways.all);\n',
        put: '',
      },
    ],
    fails: { unit: 'src/router/liars.test.ts' },
  },
  {
    what: 'have wrong bytes counted as a success',
    undo: [
      {
        file: 'src/router/content/fetch.ts',
        find: "judge(expectation.conclusive ? 'wrong' : 'unproven');",
        put: "judge('success');",
      },
    ],
    fails: { unit: 'src/router/liars.test.ts' },
  },
  {
    what: 'be shown addresses at the router that lead nowhere',
    undo: [
      {
        file: 'src/router/routes/info.ts',
        find: '  { protocol, host }: Reached,\n',
        put: "  { host }: Reached,\n  protocol = 'https',\n",
      },
      {
        file: 'src/router/routes/info.ts',
        find: "const port = basePort ?? /:[0-9]{1,5}$/.exec(host)?.[0] ?? '';",
        put: "const port = basePort ?? '';",
      },
    ],
    fails: { unit: 'src/router/routes/info.test.ts' },
  },
  {
    what: 'a chunk as JSON is not signed',
    undo: [
      {
        file: 'src/gateway/routes/chunk.ts',
        find: "await describe(request, reply, found, { bytes, contentType: 'application/json; charset=utf-8' });",
        put: "reply.header('content-type', 'application/json; charset=utf-8');",
      },
    ],
    fails: { unit: 'src/gateway/httpsig/httpsig.test.ts' },
  },
  {
    what: 'be asked to pay for a page as for unnamed bytes',
    undo: [
      {
        file: 'src/gateway/metering/payments.ts',
        find: '      mimeType: contentType,\n',
        put: "      mimeType: 'application/octet-stream',\n",
      },
    ],
    fails: { unit: 'src/gateway/metering/metering.test.ts' },
  },
  {
    what: 'not be told that something is larger than the limit ever holds',
    undo: [
      {
        file: 'src/gateway/metering/errors.ts',
        find: '    cost > capacity\n',
        put: '    cost > Number.MAX_VALUE\n',
      },
    ],
    fails: { unit: 'src/gateway/metering/token-meter.test.ts' },
  },
  {
    what: 'be told to come back for what never fits the limit',
    undo: [
      {
        file: 'src/gateway/metering/buckets.ts',
        find: 'if (cost > this.rules.capacity || this.rules.refillPerSecond === 0) return undefined;',
        put: 'if (this.rules.refillPerSecond === 0) return undefined;',
      },
    ],
    fails: { unit: 'src/gateway/metering/token-meter.test.ts' },
  },
  {
    what: 'a gauge has the name of a counter',
    undo: [
      {
        file: 'src/router/metrics.ts',
        find: "gauge('router_gateways',",
        put: "gauge('router_gateways_total',",
      },
    ],
    fails: { unit: 'scripts/metric-names.test.ts' },
  },
  {
    what: 'buy a name with a letter that is no ASCII one and becomes one in lower case',
    undo: [
      {
        file: 'src/names/requests/fields.ts',
        find: 'const name = asciiLowerCase(text);',
        put: 'const name = text.toLowerCase();',
      },
    ],
    fails: { unit: 'src/names/refusals.test.ts' },
  },
  {
    what: 'have the Kelvin sign read as a k in names, hosts and codes',
    undo: [
      {
        file: 'src/formats/ascii-case.ts',
        find: '/[A-Z]/.test(text) ? text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase()) : text;',
        put: 'text.toLowerCase();',
      },
    ],
    fails: { unit: 'src/formats/ascii-case.test.ts' },
  },
  {
    what: 'see a price for a token of one’s own whose address is none',
    undo: [
      {
        file: 'src/names/routes/arns-price.ts',
        find: 'const processId = readProcessId(request.query.processId);',
        put: 'const processId = request.query.processId || undefined;',
      },
    ],
    fails: { unit: 'src/names/routes/arns-price.test.ts' },
  },
  {
    what: 'see a price without the new token for an address that is no token',
    undo: [
      {
        file: 'src/names/routes/arns-price.ts',
        find: "  if (ownAnt && purchase.action === 'buy-name' && !(await context.prices.isToken(processId))) {\n    throw notAnAnt(processId);\n  }\n",
        put: '',
      },
    ],
    fails: { unit: 'src/names/routes/arns-price.test.ts' },
  },
  {
    what: 'a quote without credits beyond its name does not say so',
    undo: [
      {
        file: 'src/names/cards/purchases.ts',
        find: '    excessWincAmount: promised.excessWinc.toString(),\n',
        put: '    ...(promised.excessWinc > 0n && { excessWincAmount: promised.excessWinc.toString() }),\n',
      },
    ],
    fails: { unit: 'src/names/cards/cards.test.ts' },
  },
  {
    what: 'an estimate without credits beyond its name does not say so',
    undo: [
      {
        file: 'src/names/routes/arns-price.ts',
        find: '    excessWincAmount: quote.excessWinc.toString(),\n',
        put: '    ...(quote.excessWinc > 0n && { excessWincAmount: quote.excessWinc.toString() }),\n',
      },
    ],
    fails: { unit: 'src/names/routes/arns-price.test.ts' },
  },
  {
    what: "show an owner's proof without saying how it was signed",
    undo: [
      {
        file: 'src/names/actions/owner-proof.ts',
        find: "  if (type === undefined) throw signatureRequired();\n  if (type !== '4' || ",
        put: "  if ((type !== undefined && type !== '4') || ",
      },
    ],
    fails: { unit: 'src/names/actions/owner-proof.test.ts' },
  },
  {
    what: 'a transfer that names nobody gives the name to the service',
    undo: [
      {
        file: 'src/names/requests/read-action.ts',
        find: "      const request = { action, ...readToken(fields), target: walletAddressOf(fields, 'target') };\n",
        put: "      const target = fields.target === undefined ? service : walletAddressOf(fields, 'target');\n      const request = { action, ...readToken(fields), target };\n",
      },
    ],
    fails: { unit: 'src/names/refusals.test.ts' },
  },
  {
    what: 'lose the race for a name by card without being told so',
    undo: [
      {
        file: 'src/names/cards/fulfil.ts',
        find: "  if (asked.action === 'buy-name' && (await context.registry.name(asked.name)).record !== undefined) {\n    return giveUp(context, purchase, nameExists(asked.name).message);\n  }\n",
        put: '',
      },
    ],
    fails: { unit: 'src/names/cards/cards.test.ts' },
  },
  {
    what: 'pay by card for a name that was bought for the same token meanwhile',
    undo: [
      {
        file: 'src/names/cards/fulfil.ts',
        find: 'record.ant === antId && hasFreshToken(purchase)',
        put: 'record.ant === antId',
      },
    ],
    fails: { unit: 'src/names/cards/cards.test.ts' },
  },
  {
    what: 'two cards pay the registry at once for one name and one token',
    undo: [
      {
        file: 'src/names/actions/finish.ts',
        find: "AND (purchase <> 'buy-name' OR process_id IS NOT NULL)",
        put: "AND purchase <> 'buy-name'",
      },
    ],
    fails: { unit: 'src/names/cards/cards.test.ts' },
  },
  {
    what: 'wait for the money of a name that somebody else has until the next round of refunds',
    undo: [
      {
        file: 'src/names/cards/fulfil.ts',
        find: '  context.refundNow();\n',
        put: '',
      },
    ],
    fails: { unit: 'src/names/cards/cards.test.ts' },
  },
  {
    what: 'a number below zero is refused as an option',
    undo: [
      {
        file: 'src/cli/command.ts',
        find: '(?:[A-Za-z0-9_-]{42}|[0-9]+(?:\\.[0-9]+)?)',
        put: '(?:[A-Za-z0-9_-]{42})',
      },
    ],
    fails: { unit: 'src/cli/command.test.ts' },
  },
  {
    what: 'AR has no price while there are no exchange rates',
    undo: [
      {
        file: 'src/pricing/service.ts',
        find: "const needsRates = !inWincOnly || token !== 'arweave' || rows.some(({ operator }) => operator === 'add');",
        put: 'const needsRates = true;',
      },
    ],
    fails: { unit: 'src/pricing/service.test.ts' },
  },
  {
    what: 'the price route refuses AR while there are no exchange rates',
    undo: [
      {
        file: 'src/payment/routes/price.ts',
        find: 'pricing.quoteToken(amount, token, { inWincOnly: true })',
        put: 'pricing.quoteToken(amount, token)',
      },
    ],
    fails: { unit: 'src/payment/routes/failures.test.ts' },
  },
  {
    what: 'an upload that rotted after it was looked at last is mined damaged',
    undo: [
      {
        file: 'src/upload/items/segments.ts',
        find: "      if (hash !== undefined && hash.digest('hex') !== digest) throw new BlobDamaged(digest);\n",
        put: '',
      },
    ],
    fails: { unit: 'src/upload/items/segments.test.ts' },
  },
  {
    what: 'an item is bundled without being compared with its signature',
    undo: [
      {
        file: 'src/upload/bundler/bundle-reader.ts',
        find: '      if (verifies) await this.#blaming(row, checkItem(id, bytes));\n',
        put: '',
      },
    ],
    fails: { unit: 'src/upload/bundler/bundle-reader.test.ts' },
  },
  {
    what: 'a store that lost its disk costs every item of a bundle its place',
    undo: [
      {
        file: 'src/upload/bundler/bundle-reader.ts',
        find: ' || (!hasBlobs && (isUnsure || failed.length > fewItems))',
        put: '',
      },
    ],
    fails: { unit: 'src/upload/bundler/bundle-reader.test.ts' },
  },
  {
    what: 'a process that slept through its lease changes a bundle that another has',
    undo: [
      {
        file: 'src/upload/bundler/bundle-leases.ts',
        find: '      if (row === undefined) throw lost(plan);\n',
        put: '',
      },
    ],
    fails: { unit: 'src/upload/bundler/bundle-leases.test.ts' },
  },
  {
    what: 'a bundle that was held by a wrong clock waits until that time comes',
    undo: [
      {
        file: 'src/upload/bundler/bundle-leases.ts',
        find: 'OR held_until > ',
        put: 'OR held_until > 9e15 + ',
      },
    ],
    fails: { unit: 'src/upload/bundler/bundle-leases.test.ts' },
  },
  {
    what: 'an upload that was found rotten is not replaced when the same bytes are uploaded again',
    undo: [
      {
        file: 'src/upload/items/segments.ts',
        find: '  if (error instanceof BlobDamaged) await blobs.scrubbed?.inspect(digest, (step) => step());\n',
        put: '',
      },
    ],
    fails: { unit: 'src/upload/items/segments.test.ts' },
  },
  {
    what: 'an upload that rotted is served by gateways, and they note its hash for good',
    undo: [
      {
        file: 'src/upload/routes/data-item.ts',
        find: '  if (size <= comparedBytes) {\n',
        put: '  if (size < 0) {\n',
      },
      {
        file: 'src/upload/routes/data-item.ts',
        find: 'holdLast(readItemBytes(blobs, head, segments, { span }))',
        put: "readItemBytes(blobs, head, segments, { span, comparedWith: 'signature' })",
      },
    ],
    fails: { unit: 'src/upload/routes/data-item.test.ts' },
  },
  {
    what: 'a large upload that rotted looks complete before it is compared',
    undo: [
      {
        file: 'src/upload/routes/data-item.ts',
        find: 'holdLast(readItemBytes(blobs, head, segments, { span }))',
        put: 'readItemBytes(blobs, head, segments, { span })',
      },
    ],
    fails: { unit: 'src/upload/routes/data-item.test.ts' },
  },
  {
    what: 'a blocklist that was changed by hand while the database was away never counts',
    undo: [
      {
        file: 'src/router/moderation/blocklist.ts',
        find: '      if (this.#isFileOwed) await this.#followAgain();\n',
        put: '',
      },
    ],
    fails: { unit: 'src/router/moderation/blocklist.test.ts' },
  },
  {
    what: 'a blocklist that was changed by hand is written over, because the database was away when it was read',
    undo: [
      {
        file: 'src/router/moderation/blocklist.ts',
        find: '      if (error instanceof DatabaseUnavailable) throw error;\n',
        put: '',
      },
    ],
    fails: { unit: 'src/router/moderation/blocklist.test.ts' },
  },
  {
    what: 'end the reader of a published index by an entry that is cut off',
    undo: [
      {
        file: 'src/formats/cdb64/root-entry.ts',
        find: "    if (start + length > this.#bytes.length) throw new FormatError('an entry is cut off');\n",
        put: '',
      },
    ],
    fails: fuzz('cdb64-entry'),
  },
  {
    what: 'have a torrent read that has a key twice',
    undo: [
      {
        file: 'src/formats/torrent/bencode.ts',
        find: "      if (members.has(key)) throw new FormatError('a dictionary has a key twice');\n",
        put: '',
      },
    ],
    fails: fuzz('bencode'),
  },
  {
    what: 'have a document read as a manifest that no other reader takes for JSON',
    undo: [
      {
        file: 'src/formats/json-scanner.ts',
        find: '      else if (now === part.zero) this.#next = expect.failed;\n',
        put: '',
      },
    ],
    fails: fuzz('json-scanner'),
  },
  {
    what: 'prove a chunk by a path whose leaf was changed',
    undo: [
      {
        file: 'src/formats/arweave/proof.ts',
        find: '  if (!equal(hashLeaf(data, leaf.subarray(HASH_BYTES)), position.id)) return undefined;\n',
        put: '',
      },
    ],
    fails: fuzz('merkle-proof'),
  },
  {
    what: 'ask for bytes behind the end of the content',
    undo: [
      {
        file: 'src/kernel/http/byte-ranges.ts',
        find: 'end: Math.min(last + 1, size)',
        put: 'end: last + 1',
      },
    ],
    fails: fuzz('http-range'),
  },
  {
    what: 'have followers refuse a block list, by a bundle that lists a blocked item without bytes',
    undo: [
      {
        file: 'src/delivery/moderation/bundle-list.ts',
        find: '    if (start >= end) return;\n',
        put: '',
      },
    ],
    fails: fuzz('nested-bundles'),
  },
  {
    what: 'the simulated world: an item is given up after one missing look because its bundle failed before',
    undo: [
      {
        file: 'src/upload/bundler/misses.ts',
        find: '      if (isLost) {',
        put: '      const tried = await tx.get<{ attempts: number }>(\n        "SELECT attempts FROM upload_bundles WHERE plan = ?",\n        plan,\n      );\n      if (isLost || misses + (tried?.attempts ?? 0) >= 8) {',
      },
    ],
    fails: simulation('uploads'),
  },
  {
    what: 'the simulated world: a mined bundle is paid for twice when one node lacks it and another is away',
    undo: [
      {
        file: 'src/outside/look-up.ts',
        find: '  if (failure !== undefined) return failure;\n',
        put: '',
      },
    ],
    fails: simulation('uploads'),
  },
  {
    what: 'the simulated world: a flipped bit of a stored blob is mined',
    undo: [
      {
        file: 'src/upload/items/segments.ts',
        find: "      if (comparedWith === 'digests' && hashOf('sha256', blob, 'hex') !== digest)\n        throw new BlobDamaged(digest);\n",
        put: '',
      },
      {
        file: 'src/upload/bundler/bundle-reader.ts',
        find: '      if (verifies) await this.#blaming(row, checkItem(id, bytes));\n',
        put: '',
      },
    ],
    fails: simulation('uploads'),
  },
  {
    what: 'the simulated world: a torn blob holds its whole bundle up for ever',
    undo: [
      {
        file: 'src/upload/items/segments.ts',
        find: 'if (isBroken || error instanceof BlobDamaged || error instanceof BlobMissing)',
        put: 'if (isBroken || error instanceof BlobMissing)',
      },
    ],
    fails: simulation('uploads'),
  },
  {
    what: 'the simulated world: nobody bundles for as long as a clock was ahead when its process died',
    undo: [
      {
        file: 'src/storage/sql/lease.ts',
        find: '    if (taken === 0) taken = await this.#takeAbandoned();\n',
        put: '',
      },
    ],
    fails: simulation('uploads'),
  },
  {
    what: 'the simulated world: a bundle that was put off by a clock that was ahead waits until that time comes',
    undo: [
      {
        file: 'src/upload/bundler/bundle-rows.ts',
        find: "isDue('due_at')",
        put: "'(due_at <= ? OR due_at > ? + 9e15)'",
      },
    ],
    fails: simulation('uploads'),
  },
  {
    what: 'the simulated world: an item that comes while another is announced is told to the gateway seconds late',
    undo: [
      {
        file: 'src/kernel/background/wakeable-task.ts',
        find: 'if (!this.#stopped && !isPausing) this.#due(delayMs);',
        put: 'if (!this.#stopped && !isPausing && this.#running === undefined) this.#due(delayMs);',
      },
    ],
    fails: simulation('uploads'),
  },
  {
    what: 'the simulated world: a name transaction that a node behind the others does not show is paid back',
    undo: [
      {
        file: 'src/names/chain/delivery.ts',
        find: `    const status = await chain.status(signature);
    if (status !== undefined) return ended(status);
    const { slot, height } = await chain.finalized();
    if (height <= lastValidBlockHeight) return undefined;
    const everywhere = await chain.lookUpStatus(signature);
    if (everywhere.state === 'found') return ended(everywhere.value);
    return everywhere.state === 'absent' && everywhere.at >= slot ? { outcome: 'expired' } : undefined;
`,
        put: `    const { height } = await chain.finalized();
    const status = await chain.status(signature);
    if (status !== undefined) return ended(status);
    return height <= lastValidBlockHeight ? undefined : { outcome: 'expired' };
`,
      },
    ],
    fails: simulation('names'),
  },
  {
    what: 'the simulated world: buyers who come together are told that the name chain is unavailable',
    undo: [
      {
        file: 'src/names/actions/token-lists.ts',
        find: '  return context.locks.hold(serviceList, async () => {\n',
        put: '  return Promise.resolve().then(async () => {\n',
      },
      {
        file: 'src/names/actions/token-lists.ts',
        find: '    // A process that lost the lock may have extended it meanwhile: the list is read again.\n',
        put: "    throw new ChainUnavailable('a list of tokens was not extended');\n",
      },
      {
        file: 'src/names/actions/perform.ts',
        find: '      await locks.fence(tx, serviceList);\n',
        put: '',
      },
    ],
    fails: simulation('names'),
  },
  {
    what: 'the simulated world: requests at once pass the limit of actions that wait for a signature',
    undo: [
      {
        file: 'src/names/actions/create.ts',
        find: '  try {\n    await context.sql.transaction(async (tx) => {\n      // Counted',
        put: '  const before = await context.sql.transaction((tx) => awaitingCountIn(tx, payer.address));\n  try {\n    await context.sql.transaction(async (tx) => {\n      // Counted',
      },
      {
        file: 'src/names/actions/create.ts',
        find: '(await awaitingCountIn(tx, payer.address)) >= maxOpen',
        put: 'before >= maxOpen',
      },
    ],
    fails: simulation('names'),
  },
  {
    what: 'have an upload again and again for one payment, charged to any wallet',
    undo: [
      {
        file: 'src/upload/multipart/sessions.ts',
        find: 'paid === undefined ? await begunByName(tx, session) : await begunByPayment(tx, paid, now)',
        put: 'paid === undefined ? await begunByName(tx, session) : undefined',
      },
      {
        file: 'src/payments/x402/purchases.ts',
        find: "SET session = ? WHERE id = ? AND purchase = 'reserved' AND session IS NULL",
        put: 'SET session = ? WHERE id = ?',
      },
    ],
    fails: simulation('payments'),
  },
  {
    what: 'act with a signature that was shown elsewhere',
    undo: [{ file: 'src/payment/surface.ts', find: '    admit: signatures.admit,\n', put: '' }],
    fails: simulation('payments'),
  },
  {
    what: 'lose a payment that the facilitator carried out and said to have refused',
    undo: [
      {
        file: 'src/payments/x402/settlements.ts',
        find: "const over = fate?.kind === 'used-otherwise' || (fate?.kind === 'unused' && nothingSent);",
        put: "const over = fate?.kind !== 'used-unseen';",
      },
    ],
    fails: simulation('payments'),
  },
  {
    what: 'have a payment by x402 credited once more by reporting its transaction',
    undo: [
      {
        file: 'src/payments/chain/evm.ts',
        find: 'return authorizers.has(sender) ? [] : [{ sender, recipient: erc20.wallet, quantity: BigInt(data) }];',
        put: 'return [{ sender, recipient: erc20.wallet, quantity: BigInt(data) }];',
      },
    ],
    fails: simulation('payments'),
  },
  {
    what: 'leave payments open until the time that a wrong clock wrote',
    undo: [
      {
        file: 'src/storage/sql/due.ts',
        find: '<= ? OR ',
        put: '<= ? AND NOT ',
      },
    ],
    fails: simulation('payments'),
  },
  {
    what: 'the simulated world: somebody else owes what a card took back for a name',
    undo: [
      {
        file: 'src/names/cards/reversals.ts',
        find: 'export const debtorOf = ({ debtor }: CardQuote): Debtor => debtor ?? LOSS_ACCOUNT;',
        put: 'export const debtorOf = ({ debtor, address, addressType }: CardQuote): Debtor =>\n  debtor ?? { address, addressType };',
      },
    ],
    fails: simulation('names'),
  },
  {
    what: 'the simulated world: several purchases at once for a wallet without a list are refused for nothing',
    undo: [
      {
        file: 'src/names/actions/perform.ts',
        find: 'const mostPlans = 4;',
        put: 'const mostPlans = 1;',
      },
      {
        file: 'src/names/actions/sign.ts',
        find: 'if (mayRenew && isMadeMeanwhile(delivery.err)) {',
        put: 'if (false) {',
      },
    ],
    fails: simulation('names'),
  },
  {
    what: 'the simulated world: an item that waited at a backup and was bundled before the restore is paid for again',
    undo: [
      {
        file: 'src/upload/bundler/after-restore.ts',
        find: "'received_at > COALESCE((SELECT COALESCE(newest_at, restored_at) FROM upload_restores), -1)'",
        put: "'received_at > -1'",
      },
    ],
    fails: simulation('upload-restores'),
  },
  {
    what: 'the simulated world: card payments that a restore has lost are swallowed without a word',
    undo: [
      {
        file: 'src/payments/card/worker.ts',
        find: "endEvents(tx, [event], isOurs ? 'open' : 'ignored'));\n    if (!isOurs) return;\n",
        put: "endEvents(tx, [event], 'ignored'));\n    if (Date.now() > 0) return;\n",
      },
    ],
    fails: simulation('restores'),
  },
  {
    what: 'the simulated world: card payments that a restore has lost are not credited by what stands beside them',
    undo: [
      {
        file: 'src/payments/card/unknown-payments.ts',
        find: '          yield recordOf(options, payment);\n',
        put: '',
      },
    ],
    fails: simulation('restores'),
  },
  {
    what: 'what the card provider told while nobody heard it is left out by a clock that was ahead',
    undo: [
      {
        file: 'src/payments/card/worker.ts',
        find: '    const read = newest;\n',
        put: '    const read: number = Math.floor(now() / 1000);\n',
      },
      {
        file: 'src/payments/card/worker.ts',
        find: 'const isKnown = cursor !== undefined && cursor <= seconds + cursorOverlapSeconds;',
        put: 'const isKnown = cursor !== undefined;',
      },
    ],
    fails: { unit: 'src/payment/card/chaos.test.ts' },
  },
  {
    what: 'the simulated world: a router serves what was blocked at another one',
    undo: [
      {
        file: 'src/router/moderation/blocklist.ts',
        find: "    this.jobs = [createJob({ name: 'read the blocklist', everyMs: pollMs, log, run: () => this.#poll() })];\n",
        put: "    this.jobs = [createJob({ name: 'read the blocklist', everyMs: 0, log, run: () => this.#poll() })];\n",
      },
    ],
    fails: simulation('reading'),
  },
  {
    what: 'the simulated world: a router serves what the gateway blocks that it follows',
    undo: [
      {
        file: 'src/router/surface.ts',
        find: '  const all = unionOf([blocklist, followed].filter((list) => list !== undefined));\n',
        put: '  const all = unionOf([blocklist].filter((list) => list !== undefined));\n',
      },
    ],
    fails: simulation('reading'),
  },
  {
    what: 'the simulated world: items stay where their bundle was before a fork',
    undo: [
      {
        file: 'src/gateway/import/write-block.ts',
        find: '  while (await index.writer.reposition(index.sql));\n',
        put: '',
      },
    ],
    fails: simulation('reading', 'node alone'),
  },
  {
    what: 'the simulated world: small content is served whatever its signature says',
    undo: [
      {
        file: 'src/router/content/fetch.ts',
        find: '    if (!(await passes(first))) {\n',
        put: '    if (first.conclusive && !(await passes(first))) {\n',
      },
    ],
    fails: simulation('reading'),
  },
  {
    what: 'a bundle is not read for as long as a clock was ahead',
    undo: [
      {
        file: 'src/gateway/unbundle/queue.ts',
        find: 'const longestWaitSeconds = (1.5 * retryBackoff.longestMs) / 1_000;',
        put: 'const longestWaitSeconds = Number.MAX_SAFE_INTEGER / 4;',
      },
    ],
    fails: { unit: 'src/gateway/unbundle/queue.test.ts' },
  },
  {
    what: 'a gateway shows where a name pointed for as long as its clock was ahead, or when the time comes that it showed',
    undo: [
      {
        file: 'src/gateway/content/names/resolver.ts',
        find: 'this.#steadyNow = options.steadyNow ?? (() => performance.now());',
        put: 'this.#steadyNow = this.#now;',
      },
    ],
    fails: { unit: 'src/gateway/content/names/resolver.test.ts' },
  },
  {
    what: 'a router blocks what was unblocked, because its clock was ahead for a while',
    undo: [
      {
        file: 'src/router/moderation/block-store.ts',
        find: 'WHERE file = ? ORDER BY version DESC, noted_at DESC LIMIT ?`,',
        put: 'WHERE file = ? ORDER BY noted_at DESC, version DESC LIMIT ?`,',
      },
    ],
    fails: { unit: 'src/router/moderation/blocklist.test.ts' },
  },
  {
    what: 'an item that waited at a backup and was bundled before the restore is bundled and paid for again',
    undo: [
      {
        file: 'src/upload/bundler/after-restore.ts',
        find: "'received_at > COALESCE((SELECT COALESCE(newest_at, restored_at) FROM upload_restores), -1)'",
        put: "'received_at > -1'",
      },
    ],
    fails: { unit: 'src/upload/bundler/look-back.test.ts' },
  },
  {
    what: 'an item that came while a clock was ahead is bundled and paid for again after a restore',
    undo: [
      {
        file: 'src/upload/bundler/after-restore.ts',
        find: 'Math.max(restoredAt, newest?.at == null ? 0 : readInteger(newest.at))',
        put: 'Math.max(restoredAt, newest?.at == null ? 0 : 0)',
      },
    ],
    fails: { unit: 'src/upload/bundler/look-back.test.ts' },
  },
  {
    what: 'a bundle that a gateway names is believed to be of the service, whoever signed it',
    undo: [
      {
        file: 'src/upload/bundler/look-back.ts',
        find: '    wallets.includes(encodeBase64url(owner)) &&\n',
        put: '',
      },
    ],
    fails: { unit: 'src/upload/bundler/look-back.test.ts' },
  },
  {
    what: 'an action for a name that was sent since it was looked at is paid back',
    undo: [
      {
        file: 'src/names/actions/store.ts',
        find: "...[nonce, status, owned?.signature ?? '', service?.signature ?? ''],",
        put: "...[nonce, (await findAction(sql, nonce))?.status ?? '', owned?.signature ?? '', (await findAction(sql, nonce))?.service?.signature ?? ''],",
      },
    ],
    fails: { unit: 'src/names/actions/finish.test.ts' },
  },
  {
    what: 'a lock that was left by a clock ahead is not to be had by who waits briefly each time',
    undo: [{ file: 'src/names/locks.ts', find: '    this.#watches.set(key, watch);\n', put: '' }],
    fails: { unit: 'src/names/locks.test.ts' },
  },
  {
    what: 'a bundle waits for a height that a node made up',
    undo: [
      { file: 'src/upload/bundler/steps.ts', find: '          await this.#doubtAnchor(bundle);\n', put: '' },
    ],
    fails: { unit: 'src/upload/bundler/steps.test.ts' },
  },
  {
    what: 'a bundle that the chain has whole is given up because bytes of an item are lost here',
    undo: [
      { file: 'src/upload/bundler/steps.ts', find: 'if (bundle.tx_id !== null) {', put: 'if (false) {' },
    ],
    fails: { unit: 'src/upload/bundler/steps.test.ts' },
  },
  {
    what: 'credits stand for a card payment that went back, because some of them were being returned',
    undo: [
      {
        file: 'src/payments/card/inbox.ts',
        find: "sessionId: undefined }, 'waiting', now);",
        put: "sessionId: undefined }, 'ignored', now);",
      },
    ],
    fails: { unit: 'src/payment/returns/card-returns.test.ts' },
  },
  {
    what: 'a purchase is refused for nothing after a node had not known its block',
    undo: [
      {
        file: 'src/names/actions/sign.ts',
        find: "        if (time === 'first') return 'void';\n        throw chainUnreadable();\n",
        put: "        if (time === 'first') return 'void';\n",
      },
    ],
    fails: { unit: 'src/names/actions/sign.test.ts' },
  },
  {
    what: 'an upload in parts whose bytes are lost is tried until it expires',
    undo: [
      {
        file: 'src/upload/multipart/finalizer.ts',
        find: 'const { misses = 0, isLost = false } = missed ?? {};',
        put: 'const { misses = 0 } = missed ?? {};\n      const isLost = false;',
      },
    ],
    fails: { unit: 'src/upload/multipart/lost-parts.test.ts' },
  },
  {
    what: 'an upload in parts that rotted here is called invalid',
    undo: [
      {
        file: 'src/upload/multipart/finalizer.ts',
        find: "if (stateAfter(error) === 'INVALID') await",
        put: 'if (false) await',
      },
    ],
    fails: { unit: 'src/upload/multipart/lost-parts.test.ts' },
  },
  {
    what: 'an item of several blobs is given up because each was missed a few times',
    undo: [
      {
        file: 'src/upload/items/missing-blobs.ts',
        find: 'CASE WHEN missed <> ? THEN 1 ELSE misses + 1 END',
        put: 'CASE WHEN missed <> ? THEN misses + 1 ELSE misses + 1 END',
      },
    ],
    fails: { unit: 'src/upload/bundler/bundle-tables.test.ts' },
  },
  {
    what: 'the simulated world: an item of several blobs is given up because each was missed a few times',
    undo: [
      {
        file: 'src/upload/items/missing-blobs.ts',
        find: 'CASE WHEN missed <> ? THEN 1 ELSE misses + 1 END',
        put: 'CASE WHEN missed <> ? THEN misses + 1 ELSE misses + 1 END',
      },
    ],
    fails: simulation('upload-parts'),
  },
  {
    what: 'the simulated world: an upload in parts that rotted is called invalid',
    undo: [
      {
        file: 'src/upload/multipart/finalizer.ts',
        find: "if (stateAfter(error) === 'INVALID') await",
        put: 'if (false) await',
      },
    ],
    fails: simulation('upload-parts'),
  },
  {
    what: 'the simulated world: an upload in parts whose bytes are lost waits until it expires',
    undo: [
      {
        file: 'src/upload/multipart/finalizer.ts',
        find: 'const { misses = 0, isLost = false } = missed ?? {};',
        put: 'const { misses = 0 } = missed ?? {};\n      const isLost = false;',
      },
    ],
    fails: simulation('upload-parts'),
  },
  {
    what: 'the simulated world: an upload in parts is given up at once, because two clocks are apart',
    undo: [
      {
        file: 'src/upload/items/missing-blobs.ts',
        find: 'ms: 4 * 60_000',
        put: 'ms: 0',
      },
    ],
    fails: simulation('upload-parts', 'wrong clock,hidden blobs'),
  },
  {
    what: 'a mined bundle is paid for again after many checks at once',
    undo: [
      {
        file: 'src/upload/bundler/steps.ts',
        find: '{ tries: 20, ms: 3_600_000 }',
        put: '{ tries: 20, ms: 0 }',
      },
    ],
    fails: { unit: 'src/upload/bundler/steps.test.ts' },
  },
  {
    what: 'a return is left to a person after many tries at once',
    undo: [
      {
        file: 'src/payments/returns/worker.ts',
        find: '{ tries: 30, ms: 12 * 3_600_000 }',
        put: '{ tries: 30, ms: 0 }',
      },
    ],
    fails: { unit: 'src/payments/returns/worker.test.ts' },
  },
  {
    what: 'a webhook of the card provider is left to a person after many tries at once',
    undo: [
      {
        file: 'src/payments/card/worker.ts',
        find: '{ tries: 200, ms: 36 * 3_600_000 }',
        put: '{ tries: 200, ms: 0 }',
      },
    ],
    fails: { unit: 'src/payments/card/worker.test.ts' },
  },
  {
    what: 'operators are told that nobody bundles, where the bytes of an item are not found',
    undo: [
      {
        file: 'src/upload/bundler/bundling-watch.ts',
        find: ' AND misses = 0 THEN',
        put: ' THEN',
      },
    ],
    fails: { unit: 'src/upload/bundler/bundling-watch.test.ts' },
  },
  {
    what: 'a gateway says that its import does not get on when a block comes after minutes without one',
    undo: [
      {
        file: 'src/gateway/import/importer.ts',
        find: 'if (this.#next > target) this.#advancedAt = performance.now();',
        put: '',
      },
    ],
    fails: { unit: 'src/gateway/import/importer.test.ts' },
  },
  {
    what: 'a transaction that waited to be mined is missing in its block where no node gives it any more',
    undo: [
      {
        file: 'src/gateway/import/importer.ts',
        find: 'return given ?? readTransaction(index, id);',
        put: 'return given;',
      },
    ],
    fails: { unit: 'src/gateway/import/importer.test.ts' },
  },
  {
    what: 'a transaction that was missing in its block is shown as waiting though somebody has asked for it',
    undo: [
      {
        file: 'src/gateway/import/pending.ts',
        find: 'SET next_try_at = 0 WHERE id = ?',
        put: 'SET next_try_at = next_try_at WHERE id = ?',
      },
    ],
    fails: { unit: 'src/gateway/import/importer.test.ts' },
  },
  {
    what: 'a router shows the text of a manifest where gateways differ about whether it is one',
    undo: [
      {
        file: 'src/router/content/expectation.ts',
        find: 'if (contentType === undefined && voices.some((voice) => isManifestType(voice.contentType)))',
        put: 'if (voices.length === 0)',
      },
    ],
    fails: { unit: 'src/router/liars.test.ts' },
  },
];
