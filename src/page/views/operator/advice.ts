/**
 * What to do about a problem. Services say what is wrong in sentences; the first rule whose words are in one says what
 * helps, and where in the console to go on.
 */
import { texts } from '../../texts.ts';

export interface Advice {
  readonly text: string;
  readonly href?: string;
}

const { advice } = texts.operator;

const rules: readonly { readonly words: RegExp; readonly advice: Advice }[] = [
  {
    words: /no node answers|cannot reach .*node|nodes? (?:is|are) unreachable/i,
    advice: { text: advice.nodes, href: '/operator/import' },
  },
  {
    words: /database|does not take writes|SQLITE|connection terminated/i,
    advice: { text: advice.database, href: '/operator/logs' },
  },
  {
    words: /disk|no space|ENOSPC|MiB left/i,
    advice: { text: advice.disk, href: '/operator/configuration?q=DATA_DIR' },
  },
  {
    words: /blocks? behind|last data item indexed/i,
    advice: { text: advice.behind, href: '/operator/import' },
  },
  {
    words: /could not be read and wait|stable (?:blocks|transactions).*missing|are missing/i,
    advice: { text: advice.missing, href: '/operator/import' },
  },
  {
    words: /bundles? (?:is|are) damaged/i,
    advice: { text: advice.damaged, href: '/operator/bundler?state=damaged' },
  },
  {
    words: /announce|job "tell |gateway .*not (?:told|listening)/i,
    advice: { text: advice.announcements, href: '/operator/bundler/announcements' },
  },
  {
    words: /bundle|upload wallet|winston/i,
    advice: { text: advice.bundles, href: '/operator/bundler?state=stuck' },
  },
  { words: /refund|x402|payment|quarantin/i, advice: { text: advice.payments, href: '/operator/ledger' } },
  { words: /ledger|drift|balance/i, advice: { text: advice.ledger, href: '/operator/ledger' } },
  { words: /export/i, advice: { text: advice.exports, href: '/operator/exports' } },
  { words: /\bbands?\b|index(?:es)?\b/i, advice: { text: advice.indexes, href: '/operator/indexes' } },
  { words: /blocklist|audit/i, advice: { text: advice.moderation, href: '/operator/moderation' } },
  { words: /gateways?\b|verif/i, advice: { text: advice.gateways, href: '/operator/gateways' } },
  {
    words: /fetch failed|ECONNREFUSED|did not answer|timed? ?out|not answer/i,
    advice: { text: advice.down, href: '/operator/logs' },
  },
];

export function adviceFor(problem: string): Advice {
  return (
    rules.find(({ words }) => words.test(problem))?.advice ?? { text: advice.other, href: '/operator/logs' }
  );
}
