/** Names as people write them. */
import { asciiLowerCase } from '../../formats/ascii-case.ts';
import { isArnsName, isUndername, labelOf, rootUndername } from '../../formats/solana/name-rules.ts';
import { UsageError } from '../command.ts';

export interface NameParts {
  readonly base: string;
  /** `@` for the name itself. */
  readonly undername: string;
}

/** `docs_my-name` is the undername docs of my-name: names have no underscore. */
export function splitName(given: string): NameParts {
  const text = asciiLowerCase(given);
  const split = text.lastIndexOf('_');
  const [undername, base] = split < 0 ? [rootUndername, text] : [text.slice(0, split), text.slice(split + 1)];
  if (!isArnsName(base) || !isUndername(undername)) throw new UsageError(`${given} cannot be a name`);
  return { base, undername };
}

/** As gateways are asked for it. */
export const joinedName = ({ base, undername }: NameParts): string => labelOf(base, undername);
