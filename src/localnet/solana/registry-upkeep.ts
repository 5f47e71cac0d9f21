/** Upkeep that anybody may do on the public registry and nobody would do here: prices roll, dead leases go. */
import {
  arnsAddresses,
  arnsConfig,
  arnsRecord,
  demandFactor,
  returnedName,
} from '../../formats/solana/accounts-arns.ts';
import { arnsBuilder } from '../../formats/solana/instructions-arns.ts';
import type { Instruction } from '../../formats/solana/message.ts';
import { currentPeriod } from '../../formats/solana/name-prices.ts';
import type { NamePrograms } from '../../formats/solana/programs.ts';
import type { Faucet } from './faucet.ts';
import type { Ledger } from './ledger.ts';

/** Names handled at once. */
const maxAtOnce = 20;

/** Answers how many transactions it took. */
export async function doDueUpkeep(ledger: Ledger, faucet: Faucet, programs: NamePrograms): Promise<number> {
  const work = dueWork(ledger, faucet, programs);
  for (const instruction of work) await faucet.send([instruction]);
  return work.length;
}

function dueWork(ledger: Ledger, faucet: Faucet, programs: NamePrograms): Instruction[] {
  const { accounts } = ledger;
  const at = arnsAddresses(programs.arns);
  const now = Math.floor(ledger.slots.now().ms / 1000);
  const config = arnsConfig.decode(accounts.get(at.config().address).data);
  const build = arnsBuilder(programs, config.treasury);
  const work: Instruction[] = [];

  const factor = demandFactor.decode(accounts.get(at.demandFactor().address).data);
  if (factor.period < currentPeriod(factor.periodZero, now))
    work.push(build.updateDemandFactor(faucet.address));
  const over: string[] = [];
  for (const [, account] of accounts.ownedBy(programs.arns)) {
    if (work.length >= maxAtOnce) break;
    if (arnsRecord.matches(account.data)) {
      const record = arnsRecord.decode(account.data);
      if (record.end !== undefined && record.end + config.gracePeriod < now) {
        work.push(build.pruneNameToReturned(faucet.address, record.name));
      }
    } else if (returnedName.matches(account.data)) {
      const { name, returnedAt } = returnedName.decode(account.data);
      if (returnedAt + config.auctionDuration <= now && over.length < maxAtOnce) over.push(name);
    }
  }
  if (over.length > 0) work.push(build.pruneReturnedNames(faucet.address, over));
  return work;
}
