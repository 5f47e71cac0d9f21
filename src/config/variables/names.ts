import { boolean, fraction, integer, list, milliseconds, oneOf, secret, text, urls } from '../kinds.ts';

/** The chain that names live on, and what the service charges for acting on it. */
export const names = {
  NAMES_ENABLED: boolean({
    meaning: 'Whether names are sold and resolved; false = no Solana ledger is needed',
    default: true,
  }),
  SOLANA_RPC_URL: urls({
    meaning:
      'Solana RPC nodes, the first that answers is used, and all before something counts as absent; without any the local ledger is started, in the world `local`',
    default: [],
  }),
  SOLANA_RPC_TIMEOUT_MS: milliseconds({
    meaning: 'How long one Solana RPC node may take to answer',
    default: 10_000,
    min: 100,
  }),
  SOLANA_SIGNER_SECRET_KEY: secret({
    meaning:
      'Key that pays for and controls sold names: base58 of 64 bytes, or what `turnpike name key` writes; without it one is made under DATA_DIR/keys',
  }),
  ARNS_PROGRAM_CLUSTER: oneOf(['local', 'devnet', 'mainnet', 'custom'], {
    meaning:
      'Which name programs are used; the local ledger has them at the addresses of mainnet; `custom` takes the three addresses below',
    default: 'local',
    inWorlds: { testnet: 'devnet', public: 'mainnet' },
  }),
  ARNS_PROGRAM_ID: text({ meaning: 'Name registry program, with `custom`', default: undefined }),
  ANT_PROGRAM_ID: text({ meaning: 'Name token program, with `custom`', default: undefined }),
  ARNS_TOKEN_MINT: text({
    meaning: 'Mint of the token names are paid in, with `custom`',
    default: undefined,
  }),
  ANT_PROGRAMS_TRUSTED: list({
    meaning:
      'Further token programs whose tokens the service acts on: its key signs what they run, so name only those you trust. Names of any token program resolve',
    default: [],
  }),
  NAME_GATEWAYS: urls({
    meaning:
      'Gateways that are asked what they show for a name, beside the own one, ANNOUNCE_GATEWAYS and those that the router of this process knows',
    default: [],
  }),
  ARNS_DEFAULT_TARGET: text({
    meaning: 'What a bought name points at until its owner says otherwise: a transaction id',
    default: 'AnYvLJTWcG9lr2Ll5MwYWZR2o5uTE39WbpYB0zCxwKM',
  }),
  ANT_SPAWN_WINC_SURCHARGE: text({
    meaning:
      'Winc added for making the token of a bought name; without it the cost in SOL at the current rate',
    default: undefined,
  }),
  ARNS_ACTION_FLOOR_WINC: text({
    meaning: 'Least winc charged for an action on a name token',
    default: '50000000000',
  }),
  ARNS_ACTION_MARGIN: fraction({
    meaning: 'Share added to the chain cost of an action',
    default: 0.1,
    max: 10,
  }),
  ARNS_ACTION_TTL_MS: integer({
    meaning: 'How long an action may wait for its owner to sign before it is refunded',
    default: 900_000,
    min: 1_000,
  }),
  ARNS_RECONCILE_MS: milliseconds({
    meaning: 'How often unfinished actions and purchases are looked after',
    default: 60_000,
    min: 100,
  }),
  ARNS_MAX_OPEN_ACTIONS: integer({
    meaning: 'Actions one payer may have waiting for a signature',
    default: 20,
    min: 1,
  }),
  ARNS_UNIT_PRICE_MICROLAMPORTS: integer({
    meaning: 'Priority fee per compute unit of name transactions',
    default: 1_000,
    max: 10_000_000,
  }),
  ARNS_CARD_PAYMENTS: oneOf(['on', 'off'], {
    meaning: 'Whether names may be bought by card',
    default: 'on',
  }),
};
