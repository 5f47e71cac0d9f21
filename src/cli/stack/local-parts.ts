/** The local network: each part is there when a surface uses it and its real counterpart is not configured. */
import { createLocalArweave } from '../../localnet/arweave/local-arweave.ts';
import { createLocalCardProvider } from '../../localnet/card/local-card-provider.ts';
import { createLocalSolana } from '../../localnet/solana/local-solana.ts';
import { createLocalFacilitator } from '../../localnet/x402/local-facilitator.ts';
import { standsIn } from './outside.ts';
import type { Part } from './part.ts';

const arweave: Part = {
  name: 'arweave',
  what: 'local Arweave node',
  local: true,
  wanted: (config, surfaces) => standsIn('arweave', config, surfaces),
  create: ({ config, log }) => createLocalArweave(config, { log }),
  started: (world) => {
    world.arweaveNodeUrls = [world.urls.get('arweave') ?? ''];
  },
};

const solana: Part = {
  name: 'solana',
  what: 'local Solana ledger with the name programs',
  local: true,
  wanted: (config, surfaces) => standsIn('solana', config, surfaces),
  create: (world) => {
    world.localSolana = createLocalSolana(world.config, { log: world.log });
    return world.localSolana;
  },
};

const card: Part = {
  name: 'card',
  what: 'local card provider',
  local: true,
  wanted: (config, surfaces) => standsIn('card', config, surfaces),
  create: (world) => {
    world.localCard = createLocalCardProvider(world.config, { log: world.log });
    return world.localCard;
  },
};

const x402: Part = {
  name: 'x402',
  what: 'local x402 facilitator',
  local: true,
  wanted: (config, surfaces) => standsIn('x402', config, surfaces),
  create: (world) => {
    world.localFacilitator = createLocalFacilitator(world.config, { log: world.log });
    return world.localFacilitator;
  },
};

export const localParts: readonly Part[] = [arweave, solana, card, x402];
