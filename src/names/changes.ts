/**
 * Tells whoever resolves names for this operator which ones were changed, so that their readers see it at once. It is
 * never a reason for an action to fail: without it readers see the change when the record's time is over.
 */
import { asciiLowerCase } from '../formats/ascii-case.ts';
import type { SolanaAddress } from '../formats/solana/address.ts';
import { within } from '../kernel/background/within.ts';
import type { Logger } from '../kernel/log.ts';
import { isChainFailure } from '../registry/errors.ts';
import type { NameRegistry } from '../registry/name-registry.ts';
import type { ActionRequest, Purchase } from './requests/action.ts';

/** Where a name or one of its undernames (`@` is the name's own) points. */
export interface NameChange {
  readonly name: string;
  /** Undefined: all of them. */
  readonly undername?: string;
}

/** Somebody who remembers names: a gateway or a router. */
export interface NameListener {
  readonly name: string;
  /** Resolves when its readers see the change; throws where it could not be told. */
  tell(changes: readonly NameChange[]): Promise<void>;
}

interface TellOptions {
  readonly registry: NameRegistry;
  readonly listeners: readonly NameListener[];
  readonly log: Logger;
  /** Work nobody waits for. */
  readonly later: (work: () => Promise<void>) => void;
  /** Told first, in this process. */
  readonly forget: (name: string) => void;
}

/** An action waits so long for those who are told. */
const waitMs = 2_000;

export class ChangedNames {
  readonly #options: TellOptions;

  constructor(options: TellOptions) {
    this.#options = options;
  }

  /** Of an action or a purchase that is done. */
  async done(request: ActionRequest | Purchase): Promise<void> {
    const { listeners, log, later } = this.#options;
    try {
      const subject = subjectOf(request);
      if (subject === undefined) return;
      if ('name' in subject) {
        await this.tell([subject]);
        return;
      }
      if (listeners.length === 0) return;
      const { antId, undername } = subject;
      const first = await this.#nameOfToken(antId);
      if (first !== undefined) await this.tell([{ name: first, undername }]);
      // More names may have the same token: to find them asks the chain for more than one account.
      later(async () => {
        const names = await this.#options.registry.namesOf(antId);
        const others = names.filter((name) => name !== first).slice(0, 100);
        if (others.length > 0) await this.tell(others.map((name) => ({ name, undername })));
      });
    } catch (error) {
      log[isChainFailure(error) ? 'debug' : 'warn']({ err: error }, 'nobody was told of a changed name');
    }
  }

  async tell(changes: readonly NameChange[]): Promise<void> {
    const { listeners, log, forget } = this.#options;
    for (const { name } of changes) forget(name);
    const told = listeners.map((listener) =>
      listener.tell(changes).catch((error: unknown) => {
        log.warn({ err: error, listener: listener.name, changes }, 'was not told of a changed name');
      }),
    );
    await within(waitMs, Promise.all(told));
  }

  /** Tokens are called as their name almost always. */
  async #nameOfToken(asset: SolanaAddress): Promise<string | undefined> {
    const { registry } = this.#options;
    const name = (await registry.ant(asset))?.config.name;
    if (name === undefined) return undefined;
    return (await registry.name(name)).record?.ant === asset ? name : undefined;
  }
}

/** What of the actions changes where a name leads. */
function subjectOf(
  request: ActionRequest | Purchase,
): { readonly name: string } | { readonly antId: SolanaAddress; readonly undername: string } | undefined {
  switch (request.action) {
    case 'buy-name':
    case 'increase-undername-limit':
      return { name: request.name };
    case 'set-record':
    case 'remove-record':
      return { antId: request.antId, undername: asciiLowerCase(request.undername) };
    default:
      return undefined;
  }
}
