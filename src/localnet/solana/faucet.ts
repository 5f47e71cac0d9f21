/** The ledger's own key at work: airdrops, first funds of the service, upkeep of the registry. */
import { encodeBase58 } from '../../formats/base58.ts';
import {
  arnsAddresses,
  arnsConfig,
  arnsRecord,
  demandFactor,
  returnedName,
} from '../../formats/solana/accounts-arns.ts';
import type { SolanaAddress } from '../../formats/solana/address.ts';
import { arnsBuilder } from '../../formats/solana/instructions-arns.ts';
import { compileMessage, type Instruction } from '../../formats/solana/message.ts';
import { currentPeriod } from '../../formats/solana/name-prices.ts';
import { lamportsPerSol, type NamePrograms } from '../../formats/solana/programs.ts';
import { memo, transferLamports } from '../../formats/solana/system.ts';
import {
  associatedTokenAddress,
  createAssociatedTokenAccount,
  decodeTokenAccount,
  mintTo,
} from '../../formats/solana/token.ts';
import { serializeTransaction } from '../../formats/solana/transaction.ts';
import { signEd25519 } from '../../wallets/solana/ed25519.ts';
import type { Keypair } from './genesis.ts';
import type { Ledger } from './ledger.ts';

/** What a service key is given when the ledger first hears of it: enough for a long time of selling names. */
const serviceSol = 10_000n * lamportsPerSol;
const serviceTokens = 1_000_000_000n * 1_000_000n;
/** Names that upkeep handles at once. */
const maxAtOnce = 20;

export interface Grant {
  readonly lamports?: bigint;
  /** Of the name token, in its smallest unit. */
  readonly tokens?: bigint;
}

export class Faucet {
  readonly #ledger: Ledger;
  readonly #key: Keypair;
  readonly #programs: NamePrograms;
  #count = 0;

  constructor(ledger: Ledger, key: Keypair, programs: NamePrograms) {
    this.#ledger = ledger;
    this.#key = key;
    this.#programs = programs;
  }

  get address(): SolanaAddress {
    return this.#key.address;
  }

  /** Signs and submits; answers the signature once it is durable. */
  async send(instructions: readonly Instruction[]): Promise<string> {
    const { slots } = this.#ledger;
    // Two equal transactions in one block would be the same one: a count tells them apart.
    this.#count += 1;
    const messageBytes = compileMessage({
      // The form that every client reads without being asked to.
      version: 'legacy',
      feePayer: this.#key.address,
      blockhash: slots.blockhash(slots.now().slot),
      instructions: [...instructions, memo(`faucet ${this.#count}`)],
    });
    const signature = signEd25519(this.#key.privateKey, messageBytes);
    await this.#ledger.submit(serializeTransaction([signature], messageBytes), true);
    return encodeBase58(signature);
  }

  airdrop(to: SolanaAddress, lamports: bigint): Promise<string> {
    return this.give(to, { lamports });
  }

  /** Gives a service key its first lamports and tokens; does nothing for one that has them. */
  async fund(address: SolanaAddress): Promise<void> {
    await this.endow([address], { lamports: serviceSol, tokens: serviceTokens });
  }

  /** Gives to those of the addresses that never had name tokens. */
  async endow(addresses: readonly SolanaAddress[], grant: Grant): Promise<void> {
    const without = addresses.filter((address) => !this.#ledger.accounts.has(this.#tokensOf(address)));
    await Promise.all(without.map((address) => this.give(address, grant)));
  }

  /** Lamports and name tokens, of which one may be nothing. */
  give(to: SolanaAddress, { lamports = 0n, tokens = 0n }: Grant): Promise<string> {
    const { address: from } = this.#key;
    const { mint } = this.#programs;
    const account = this.#tokensOf(to);
    const hasAccount = tokens === 0n || this.#ledger.accounts.has(account);
    return this.send([
      ...(lamports === 0n ? [] : [transferLamports(from, to, lamports)]),
      ...(hasAccount ? [] : [createAssociatedTokenAccount(from, to, mint)]),
      ...(tokens === 0n ? [] : [mintTo(mint, account, from, tokens)]),
    ]);
  }

  /** What an address has. */
  holdings(address: SolanaAddress): Required<Grant> {
    const { accounts } = this.#ledger;
    const tokens = this.#tokensOf(address);
    return {
      lamports: accounts.get(address).lamports,
      tokens: accounts.has(tokens) ? decodeTokenAccount(accounts.get(tokens).data).amount : 0n,
    };
  }

  #tokensOf(address: SolanaAddress): SolanaAddress {
    return associatedTokenAddress(address, this.#programs.mint);
  }

  /** What anybody may do on the public registry and nobody would do here; answers how many transactions it took. */
  async upkeep(): Promise<number> {
    const work = this.#dueWork();
    for (const instruction of work) await this.send([instruction]);
    return work.length;
  }

  #dueWork(): Instruction[] {
    const { accounts, slots } = this.#ledger;
    const programs = this.#programs;
    const { address } = this.#key;
    const at = arnsAddresses(programs.arns);
    const now = Math.floor(slots.now().ms / 1000);
    const config = arnsConfig.decode(accounts.get(at.config().address).data);
    const build = arnsBuilder(programs, config.treasury);
    const work: Instruction[] = [];

    const factor = demandFactor.decode(accounts.get(at.demandFactor().address).data);
    if (factor.period < currentPeriod(factor.periodZero, now)) work.push(build.updateDemandFactor(address));
    const over: string[] = [];
    for (const [, account] of accounts.ownedBy(programs.arns)) {
      if (work.length >= maxAtOnce) break;
      if (arnsRecord.matches(account.data)) {
        const record = arnsRecord.decode(account.data);
        if (record.end !== undefined && record.end + config.gracePeriod < now) {
          work.push(build.pruneNameToReturned(address, record.name));
        }
      } else if (returnedName.matches(account.data)) {
        const { name, returnedAt } = returnedName.decode(account.data);
        if (returnedAt + config.auctionDuration <= now && over.length < maxAtOnce) over.push(name);
      }
    }
    if (over.length > 0) work.push(build.pruneReturnedNames(address, over));
    return work;
  }
}
