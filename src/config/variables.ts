/** Every environment variable of the program, grouped as people look for them. */
import { arweave } from './variables/arweave.ts';
import { general, ports } from './variables/general.ts';
import { pricing } from './variables/pricing.ts';
import { upload } from './variables/upload.ts';

export const groups = {
  General: general,
  Ports: ports,
  Arweave: arweave,
  Pricing: pricing,
  Upload: upload,
};

export const variables = { ...general, ...ports, ...arweave, ...pricing, ...upload };
