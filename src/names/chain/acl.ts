/** Users' lists of tokens as transactions need them: where an entry fits, where one stands, what growing costs. */
import {
  type AclPage,
  type AclRole,
  aclConfig,
  aclPage,
  aclPageSize,
  antAddresses,
  maxAclPageEntries,
} from '../../formats/solana/accounts-ant.ts';
import type { SolanaAddress } from '../../formats/solana/address.ts';
import type { AclPlace, AntBuilder } from '../../formats/solana/instructions-ant.ts';
import type { Instruction } from '../../formats/solana/message.ts';
import { type NamePrograms, rentExemptMinimum } from '../../formats/solana/programs.ts';
import type { ChainAccount, NameChain } from '../../registry/chain.ts';

interface Page {
  readonly page: AclPage;
  readonly size: number;
  readonly lamports: bigint;
}

/** Where a new entry goes. */
export interface AclRoom {
  readonly place: AclPlace;
  /** What must be made first, at the service's cost. */
  readonly prepare: readonly Instruction[];
  /** Rent that comes with the new entry: none where the page has room left over. */
  readonly growth: bigint;
}

/** By page: how many places are promised to transactions that are not confirmed. */
export type ReservedPlaces = ReadonlyMap<bigint, number>;

const none: ReservedPlaces = new Map();

export class UserAcl {
  readonly user: SolanaAddress;
  readonly #exists: boolean;
  readonly #pages: readonly Page[];

  constructor(user: SolanaAddress, exists: boolean, pages: readonly Page[]) {
    this.user = user;
    this.#exists = exists;
    this.#pages = pages;
  }

  static async read(chain: NameChain, programs: NamePrograms, user: SolanaAddress): Promise<UserAcl> {
    const [acl] = await UserAcl.readAll(chain, programs, [user]);
    if (acl === undefined) throw new Error('one user has one list');
    return acl;
  }

  /** The lists of several users; for almost all of them one read is enough. */
  static async readAll(
    chain: NameChain,
    programs: NamePrograms,
    users: readonly SolanaAddress[],
  ): Promise<UserAcl[]> {
    const at = antAddresses(programs.ant);
    const places = users.flatMap((user) => [at.aclConfig(user).address, at.aclPage(user, 0n).address]);
    const found = await chain.accounts(places);
    return Promise.all(
      users.map(async (user, index) => {
        const [head, first] = found.slice(index * 2, index * 2 + 2);
        if (head === undefined || head.owner !== programs.ant || !aclConfig.matches(head.data)) {
          return new UserAcl(user, false, []);
        }
        const count = Number(aclConfig.decode(head.data).pageCount);
        const rest = Array.from({ length: Math.max(0, count - 1) }, (_, page) => BigInt(page + 1));
        const more = await chain.accounts(rest.map((page) => at.aclPage(user, page).address));
        return new UserAcl(user, true, count === 0 ? [] : [first, ...more].flatMap(toPage));
      }),
    );
  }

  /** The page that holds the entry. */
  holding(asset: SolanaAddress, role: AclRole): AclPlace | undefined {
    const found = this.#pages.find(({ page }) =>
      page.entries.some((entry) => entry.asset === asset && entry.role === role),
    );
    return found && { user: this.user, page: found.page.pageIndex };
  }

  /** The first page with room, or the next one to be made. `reserved`: places of a page that others will take. */
  room(build: AntBuilder, payer: SolanaAddress, reserved: ReservedPlaces = none): AclRoom {
    const open = this.#pages.find(
      ({ page }) => page.entries.length + (reserved.get(page.pageIndex) ?? 0) < maxAclPageEntries,
    );
    if (open !== undefined) {
      const { page, size, lamports } = open;
      const before = rentOf(Math.max(size, aclPageSize(page.entries.length)), lamports);
      const after = rentOf(Math.max(size, aclPageSize(page.entries.length + 1)), lamports);
      return { place: { user: this.user, page: page.pageIndex }, prepare: [], growth: after - before };
    }
    const place = { user: this.user, page: BigInt(this.#pages.length) };
    const head = this.#exists ? [] : [build.registerAclConfig(this.user, payer)];
    return {
      place,
      prepare: [...head, build.addAclPage(place, payer)],
      growth: rentExemptMinimum(aclPageSize(1)) - rentExemptMinimum(aclPageSize(0)),
    };
  }
}

function toPage(account: ChainAccount | undefined): Page[] {
  if (account === undefined || !aclPage.matches(account.data)) return [];
  return [{ page: aclPage.decode(account.data), size: account.data.length, lamports: account.lamports }];
}

/** What an account holds once it has the rent of this size: what it has beyond the rent stays. */
function rentOf(size: number, lamports: bigint): bigint {
  const rent = rentExemptMinimum(size);
  return rent > lamports ? rent : lamports;
}
