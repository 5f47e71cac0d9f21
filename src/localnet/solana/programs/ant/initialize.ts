/** A fresh asset becomes an ANT: config, controllers with the owner as the first, and the root record. */
import { antConfig, antControllers, antRecord } from '../../../../formats/solana/accounts-ant.ts';
import { schemaVersion } from '../../../../formats/solana/accounts-arns.ts';
import { antInstructions, type InitializeAnt } from '../../../../formats/solana/instructions-ant.ts';
import {
  areKeywords,
  byteLength,
  defaultLogo,
  defaultTtlSeconds,
  isArweaveId,
  isTarget,
  maxDescriptionLength,
  maxDisplayNameLength,
  maxTickerLength,
  protocolArweave,
  rootUndername,
} from '../../../../formats/solana/name-rules.ts';
import { type AnchorCall, type Handler, handler } from '../anchor.ts';
import { at, insist, ownerOf } from './context.ts';

export const initializeHandlers: readonly Handler[] = [
  handler(antInstructions.initialize, 60_000, initialize),
];

function initialize(anchor: AnchorCall, args: InitializeAnt): void {
  const asset = anchor.any();
  const config = anchor.derived(at(anchor).config(asset), 'ant_config');
  const controllers = anchor.derived(at(anchor).controllers(asset), 'ant_controllers');
  const root = anchor.derived(at(anchor).record(asset, rootUndername), 'root_record');
  const owner = anchor.signer('owner');
  anchor.systemProgram();
  insist(ownerOf(anchor, asset) === owner, anchor, 'NotNftHolder');
  const protocol = args.protocol ?? protocolArweave;
  check(anchor, args, protocol);

  anchor.create(antConfig, owner, config, {
    mint: asset,
    name: args.name,
    ticker: args.ticker ?? 'ANT',
    logo: args.logo === '' ? defaultLogo : args.logo,
    description: args.description,
    keywords: args.keywords,
    lastKnownOwner: owner,
    bump: config.bump,
    version: schemaVersion,
  });
  anchor.create(antControllers, owner, controllers, {
    mint: asset,
    controllers: [owner],
    bump: controllers.bump,
    version: schemaVersion,
  });
  anchor.create(antRecord, owner, root, {
    mint: asset,
    undername: rootUndername,
    target: args.target,
    targetProtocol: protocol,
    ttlSeconds: defaultTtlSeconds,
    priority: 0,
    owner: undefined,
    lastReconciledOwner: owner,
    bump: root.bump,
    version: schemaVersion,
  });
  anchor.call.log(`ANT initialized for asset ${asset}`);
}

function check(anchor: AnchorCall, args: InitializeAnt, protocol: number): void {
  insist(args.name !== '', anchor, 'NameEmpty');
  insist(byteLength(args.name) <= maxDisplayNameLength, anchor, 'NameTooLong');
  if (args.ticker !== undefined) {
    insist(args.ticker !== '' && byteLength(args.ticker) <= maxTickerLength, anchor, 'TickerTooLong');
  }
  insist(isTarget(args.target, protocol), anchor, 'InvalidTarget');
  insist(args.logo === '' || isArweaveId(args.logo), anchor, 'InvalidLogo');
  insist(byteLength(args.description) <= maxDescriptionLength, anchor, 'DescriptionTooLong');
  insist(areKeywords(args.keywords), anchor, 'InvalidKeyword');
}
