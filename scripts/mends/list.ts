/** Every mend that keeps somebody's credits, names, history or origin: how to take it out, and which test then fails. */

export interface Mend {
  /** What a stranger could do without it. */
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

/** A test file, or a run of the stranger that finds something within so many requests. */
export type Check =
  | { readonly unit: string }
  | {
      readonly strangers: {
        readonly seed: number;
        readonly requests: number;
        /** Further arguments, for example `--bound`. */
        readonly options?: readonly string[];
      };
    };

/** Long enough that what is open is found from any seed; a run ends with the first thing it finds. */
const stranger = (seed: number, ...options: string[]): Check => ({
  strangers: { seed, requests: 12_000, options },
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
        find: 'return value >= tolerated && rules.quotes.wasAsked(quote.product, value);',
        put: 'return value >= tolerated;',
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
        find: "      scope.addHook('onRequest', async (request, reply) => guard.check(request, reply));\n",
        put: "      scope.addHook('onRequest', async (request, reply) => {\n        if (request.url.startsWith(prefix)) guard.check(request, reply);\n      });\n",
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
        find: '    this.#limits.count(client);\n',
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
        file: 'src/upload/bundler/bundler.ts',
        find: ' || (wasPosted && !isAnchorDead(bundle, known.at))',
        put: '',
      },
    ],
    fails: { unit: 'src/upload/bundler/pay-once.test.ts' },
  },
  {
    what: 'an item is given up after one look that does not find its bytes',
    undo: [
      {
        file: 'src/upload/bundler/bundler.ts',
        find: '    if ((await countMiss(this.#lease.fenced, plan, error.id)) < maxMisses) return false;\n',
        put: '    await countMiss(this.#lease.fenced, plan, error.id);\n',
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
        find: "    return this.#rsaKey('DATA_KEY_FILE', 'data-key.pem', makeFastRsaKey);\n",
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
];
