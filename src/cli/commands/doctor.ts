import { ConfigError, readProcessConfig } from '../../config/config.ts';
import { isTxId } from '../../formats/base64url.ts';
import { type Command, printJson, readArguments, UsageError } from '../command.ts';
import { examine } from '../doctor/examine.ts';
import type { FindingState, NamedFinding } from '../doctor/finding.ts';
import { publicUrlsOf, serviceNames } from '../doctor/patient.ts';
import { createView } from '../doctor/view.ts';
import { surfaceNames } from '../stack.ts';

/** For what comes at once where nothing holds it back. */
const timeoutMs = 8_000;

const options = {
  gateway: { type: 'string' },
  router: { type: 'string' },
  upload: { type: 'string' },
  payment: { type: 'string' },
  dns: { type: 'string' },
  id: { type: 'string' },
  name: { type: 'string' },
  json: { type: 'boolean' },
} as const;

export const doctor: Command = {
  usage: `turnpike doctor [surface …] [--gateway <url>] [--router <url>] [--upload <url>] [--payment <url>]

Looks at an installation from the inside and from the outside, and says in one line each what is wrong and what to do:
settings, nodes and RPC, clock, disk and inodes, database, object store, the services themselves, DNS with the wildcard,
certificates, what the proxy passes on, and an id and a name read as readers do. Run it on the machine of the service, with
its environment and as its user; it changes nothing (an object store gets one small object, which is removed).

  surface           only these, of ${surfaceNames.join(', ')}; without any, all
  --gateway, --router, --upload, --payment <url>
                    where readers find them (default: ARNS_ROOT_HOST or GATEWAY_URL, BASE_DOMAIN or ROUTER_URL, UPLOAD_URL,
                    PAYMENT_URL)
  --id, --name      what is read from outside (default: one of the newest; on the public network well-known ones)
  --dns <address>   DNS server to ask in place of the system's, such as 9.9.9.9
  --json            for machines

It ends with 0 when nothing is wrong, with 1 when something is. Warnings change nothing of that.`,
  async run(args) {
    const { values, positionals } = readArguments({ args, options, allowPositionals: true });
    for (const name of positionals) {
      if (!surfaceNames.includes(name)) {
        throw new UsageError(`there is no surface "${name}"; there are ${surfaceNames.join(', ')}`);
      }
    }
    const { id } = values;
    if (id !== undefined && !isTxId(id)) throw new UsageError(`${id} is no id: those have 43 characters`);
    const surfaces = positionals.length === 0 ? surfaceNames : positionals;
    const given = Object.fromEntries(
      serviceNames.flatMap((name) => (values[name] === undefined ? [] : [[name, values[name]]])),
    );
    const found = await findings({ surfaces, given, id, name: values.name, dnsServer: values.dns });
    const isWell = found.every(({ state }) => state !== 'wrong');
    if (values.json === true) printJson({ ok: isWell, findings: found });
    else console.log(describe(found));
    return isWell ? 0 : 1;
  },
};

interface Asked {
  readonly surfaces: readonly string[];
  readonly given: Parameters<typeof publicUrlsOf>[2];
  readonly id: Parameters<typeof examine>[0]['id'];
  readonly name: string | undefined;
  readonly dnsServer: string | undefined;
}

async function findings({ surfaces, given, id, name, dnsServer }: Asked): Promise<NamedFinding[]> {
  try {
    const config = readProcessConfig();
    const view = createView({ dnsServer });
    try {
      const publicUrls = publicUrlsOf(config, surfaces, given);
      return await examine({ config, surfaces, publicUrls, view, timeoutMs, id, name });
    } finally {
      await view.close();
    }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const remedy = 'nothing else can be looked at before the settings can be read';
    return error.problems.map((what) => ({ check: 'settings', state: 'wrong', what, remedy }));
  }
}

const marks: Readonly<Record<FindingState, string>> = {
  ok: 'ok',
  warning: 'look',
  wrong: 'WRONG',
  skipped: '-',
};

function describe(found: readonly NamedFinding[]): string {
  const width = Math.max(...found.map(({ check }) => check.length));
  const lines = found.map(({ check, state, what, remedy }) => {
    const line = `${marks[state].padEnd(5)}  ${check.padEnd(width)}  ${what}`;
    return (remedy === undefined ? line : `${line}: ${remedy}`).replace(/\p{Cc}/gu, ' ');
  });
  const [wrongs, warnings] = (['wrong', 'warning'] as const).map(
    (state) => found.filter((one) => one.state === state).length,
  );
  const verdict =
    wrongs === 0 ? 'Nothing is wrong.' : wrongs === 1 ? 'One thing is wrong.' : `${wrongs} things are wrong.`;
  const more =
    warnings === 0 ? '' : ` ${warnings === 1 ? 'One more wants' : `${warnings} more want`} a look.`;
  return [...lines, '', verdict + more].join('\n');
}
