/** Opens a ledger from its file, making it on the first start. */
import { randomBytes } from 'node:crypto';
import { parseSolanaAddress } from '../../formats/solana/address.ts';
import type { NamePrograms } from '../../formats/solana/programs.ts';
import { StartupError } from '../../kernel/errors.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import { AccountStore } from './accounts.ts';
import { type GenesisSettings, genesisAccounts } from './genesis.ts';
import { Ledger, type SignatureStatus } from './ledger.ts';
import { programTable } from './programs/program-table.ts';
import { blockhashLife, Slots } from './slots.ts';
import { type Genesis, LedgerStore } from './store.ts';

export interface OpenLedger {
  readonly ledger: Ledger;
  readonly genesis: Genesis;
  readonly settings: GenesisSettings;
}

/** `settings` make a new ledger; an existing one keeps its own, and must be for the same programs. */
export async function openLedger(
  sql: Sql,
  settings: GenesisSettings,
  clock: () => number,
): Promise<OpenLedger> {
  const store = new LedgerStore(sql);
  const genesis = (await store.genesis()) ?? (await begin(store, settings, clock()));
  const kept = readSettings(genesis.settings);
  if (kept.programs.arns !== settings.programs.arns || kept.programs.ant !== settings.programs.ant) {
    throw new StartupError(
      'the local Solana ledger was made for other name programs: remove its file or set ARNS_PROGRAM_CLUSTER back',
    );
  }
  const accounts = new AccountStore();
  for await (const [address, account] of store.accounts()) accounts.apply(new Map([[address, account]]));
  const slots = new Slots(genesis.seed, genesis.createdMs, clock);
  const last = await store.last();
  if (last !== undefined) slots.notBefore(last.timeMs);
  const recent = new Map<string, SignatureStatus>();
  for await (const entry of store.since(slots.now().slot - 2 * blockhashLife)) {
    recent.set(entry.signature, { slot: entry.slot, err: entry.meta.err, sequence: entry.sequence });
  }
  const programs = programTable(kept.programs);
  return {
    ledger: new Ledger(store, accounts, programs, slots, last?.sequence ?? 0, recent),
    genesis,
    settings: kept,
  };
}

async function begin(store: LedgerStore, settings: GenesisSettings, now: number): Promise<Genesis> {
  const genesis = { seed: randomBytes(32), createdMs: now, settings: JSON.stringify(settings) };
  await store.begin(genesis, genesisAccounts(genesis.seed, now, settings));
  return genesis;
}

function readSettings(text: string): GenesisSettings {
  const value: { programs: NamePrograms; registryCapacity: number; demandFactor: number } = JSON.parse(text);
  const { arns, ant, mint } = value.programs;
  return {
    programs: {
      arns: parseSolanaAddress(arns),
      ant: parseSolanaAddress(ant),
      mint: parseSolanaAddress(mint),
    },
    registryCapacity: value.registryCapacity,
    demandFactor: value.demandFactor,
  };
}
