/** Every environment variable of the program, grouped as people look for them. */
import { arweave } from './variables/arweave.ts';
import { general, ports } from './variables/general.ts';

export const groups = {
  General: general,
  Ports: ports,
  Arweave: arweave,
};

export const variables = { ...general, ...ports, ...arweave };
