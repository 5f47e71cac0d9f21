/** Settings that are wrong by themselves or together, and what the outside that they name says. */
import { type Config, ConfigError, misspeltVariables, showValue } from '../../config/config.ts';
import { memberOf, tryParseJson } from '../../formats/json.ts';
import { readFilters } from '../../gateway/filters/configured.ts';
import { neverMatches } from '../../gateway/filters/match.ts';
import { messageOf } from '../../kernel/errors.ts';
import { httpRates } from '../../pricing/rates/http.ts';
import { reasonOf } from '../service-client.ts';
import { askAll } from '../stack/ask-world.ts';
import { folderWorld } from '../stack/folder-world.ts';
import { outside, sellsSomething } from '../stack/outside.ts';
import { checkSettings } from '../stack/settings.ts';
import { contradictions, type Heard } from '../stack/world.ts';
import { type Finding, ok, skipped, warning, wrong } from './finding.ts';
import type { Patient } from './patient.ts';

const times = { askMs: 5_000, waitMs: 0 };

export async function lookAtSettings({ config, surfaces }: Patient): Promise<Finding[]> {
  const found = [...refused(() => checkSettings(config, surfaces)), ...misspelt()];
  const lines = contradictions({ config, surfaces, folder: folderWorld(config.DATA_DIR), heard: [] });
  found.push(...lines.map((line) => wrong(line, 'a start is refused until it is mended')));
  // A filter that cannot be read was told above.
  if (found.every(({ state }) => state !== 'wrong')) found.push(...idleFilters(config, surfaces));
  if (config.WORLD === 'public' && surfaces.includes('gateway') && config.START_HEIGHT === 0) {
    const remedy = 'set it to a height of today, or to the first that your readers need';
    found.push(warning('START_HEIGHT is 0: the import begins at the first block and takes weeks', remedy));
  }
  return found.length > 0 ? found : [ok(`nothing contradicts itself in the world ${config.WORLD}`)];
}

function refused(check: () => void): Finding[] {
  try {
    check();
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.problems.map((line) => wrong(line, 'a start is refused until it is mended'));
  }
}

const misspelt = (): Finding[] =>
  misspeltVariables().map((line) => warning(line, 'rename or remove the variable'));

function idleFilters(config: Config, surfaces: readonly string[]): Finding[] {
  if (!surfaces.includes('gateway')) return [];
  const { unbundle, index } = readFilters(config);
  const idle = (variable: string, what: string) =>
    wrong(`${variable} lets ${what} through, ever`, 'write another filter, such as {"always": true}');
  return [
    ...(neverMatches(unbundle) ? [idle('ANS104_UNBUNDLE_FILTER', 'no bundle')] : []),
    ...(neverMatches(index) ? [idle('ANS104_INDEX_FILTER', 'no item')] : []),
  ];
}

/** Nodes, RPC, facilitator, card provider: who does not answer, and who is of another world. */
export async function lookAtOutside(patient: Patient): Promise<Finding[]> {
  const { config, surfaces } = patient;
  const [heard, rates, cards] = await Promise.all([
    askAll(config, surfaces, times),
    lookAtRates(patient),
    lookAtCards(patient),
  ]);
  if (heard.length + rates.length + cards.length === 0) return [skipped('no node, RPC or provider is set')];
  // Who does not answer is told once, and what is wrong without asking anybody was told with the settings.
  const start = { config, surfaces, folder: undefined };
  const known = contradictions({ ...start, heard: [] });
  const answered = heard.filter(({ origin }) => origin !== undefined);
  const others = contradictions({ ...start, heard: answered }).filter((line) => !known.includes(line));
  return [
    ...silent(heard),
    ...others.map((line) => wrong(line, 'set one of the world that WORLD names')),
    ...(await behind(patient)),
    ...rates,
    ...cards,
  ];
}

async function lookAtRates({ config, surfaces }: Patient): Promise<Finding[]> {
  const { RATES_URL: url, RATES_API_KEY: apiKey } = config;
  if (url === undefined || !sellsSomething(config, surfaces)) return [];
  try {
    await httpRates({ url, apiKey, timeoutMs: times.askMs }).fetch();
    return [ok('RATES_URL: answers')];
  } catch (error) {
    const what = `RATES_URL: ${showValue('RATES_URL', url)} gives no rates (${messageOf(error)})`;
    return [wrong(what, 'check the address and RATES_API_KEY: without rates nothing is sold')];
  }
}

/** Reading what is on the account changes nothing; a restricted key may not, and is known all the same. */
async function lookAtCards({ config, surfaces, view }: Patient): Promise<Finding[]> {
  const { STRIPE_SECRET_KEY: key, STRIPE_API_URL: url = 'https://api.stripe.com' } = config;
  if (key === undefined || config.WORLD === 'local' || !outside.card.isUsed(config, surfaces)) return [];
  try {
    const { status } = await view.http.call(`${url}/v1/balance`, {
      headers: { authorization: `Bearer ${key}` },
    });
    if (status === 200 || status === 403) return [ok('STRIPE_SECRET_KEY: the card provider knows it')];
    if (status === 401)
      return [
        wrong('STRIPE_SECRET_KEY: the card provider does not know it', 'copy it again from its dashboard'),
      ];
    return [warning(`the card provider answers ${status}`, 'look at its status page, and try again')];
  } catch (error) {
    return [
      wrong(`the card provider does not answer (${reasonOf(error)})`, 'check the way out of this machine'),
    ];
  }
}

function silent(heard: readonly Heard[]): Finding[] {
  return [...new Set(heard.map(({ variable }) => variable))].flatMap((variable) => {
    const all = heard.filter((one) => one.variable === variable);
    const away = all.filter(({ origin }) => origin === undefined);
    if (away.length === 0)
      return [ok(`${variable}: ${all.length === 1 ? 'answers' : `all ${all.length} answer`}`)];
    const shown = away.map(({ url }) => showValue(variable, url)).join(', ');
    const remedy = 'check the address, its key and the way out of this machine, or name another';
    return away.length === all.length
      ? [wrong(`${variable}: ${shown} does not answer as it should`, remedy)]
      : [warning(`${variable}: ${shown} does not answer as it should; the others do`, remedy)];
  });
}

/** Blocks that a node may lack without being told: nodes hear of a block one after the other. */
const usualLag = 5;

async function behind({ config, surfaces, view }: Patient): Promise<Finding[]> {
  const { ARWEAVE_NODE_URLS: urls } = config;
  if (urls.length < 2 || !surfaces.some((name) => name !== 'router' && name !== 'console')) return [];
  const heights = await Promise.all(
    urls.map(async (url) => {
      const answer = await view.http.call(`${url}/info`).catch(() => undefined);
      const height = memberOf(tryParseJson(String(answer?.body ?? '')), 'height');
      return { url, height: typeof height === 'number' ? height : undefined };
    }),
  );
  const top = Math.max(...heights.map(({ height }) => height ?? 0));
  return heights.flatMap(({ url, height }) => {
    if (height === undefined || top - height <= usualLag) return [];
    const what = `${showValue('ARWEAVE_NODE_URLS', url)} is ${top - height} blocks behind the others`;
    return [warning(what, 'take it out of ARWEAVE_NODE_URLS until it has caught up')];
  });
}
