/** The surfaces, in the order they start. */
import { createGatewaySurface } from '../../gateway/index.ts';
import { version } from '../version.ts';
import type { Part } from './part.ts';

const gateway: Part = {
  name: 'gateway',
  what: 'chain reads, content, GraphQL',
  local: false,
  wanted: () => true,
  create: ({ config, log, arweaveNodeUrls }) =>
    createGatewaySurface(config, { log, nodeUrls: arweaveNodeUrls, release: version }),
};

export const surfaceParts: readonly Part[] = [gateway];
