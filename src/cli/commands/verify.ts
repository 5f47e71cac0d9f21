import { readFileSync } from 'node:fs';
import { StartupError } from '../../kernel/errors.ts';
import { verifyProof } from '../check/verify-proof.ts';
import { type Command, printJson, readArguments, UsageError } from '../command.ts';

export const verify: Command = {
  usage: `turnpike verify <proof file> [<data file>] [--json]

Verifies what an upload service promised and did, without asking anybody: the receipt, the item's signature, its place in its
bundle and the bundle's place in its block. The proof is what {upload service}/v1/tx/<id>/proof answers ("-" reads it from a
pipe); the data is what was stored.

It ends with 0 when nothing is wrong, with 3 when something is.`,
  async run(args) {
    const { values, positionals } = readArguments({
      args,
      options: { json: { type: 'boolean' } },
      allowPositionals: true,
    });
    const [proof, data, ...rest] = positionals;
    if (proof === undefined || rest.length > 0) throw new UsageError('say which proof');
    const findings = await verifyProof(readText(proof), data);
    if (values.json === true) printJson(findings);
    else
      for (const { what, state, note } of findings)
        console.log(`${what.padEnd(8)} ${state.padEnd(12)} ${note}`);
    return findings.some(({ state }) => state === 'wrong') ? 3 : 0;
  },
};

function readText(path: string): string {
  try {
    return readFileSync(path === '-' ? 0 : path, 'utf8');
  } catch {
    throw new StartupError(`there is no file ${path}`);
  }
}
