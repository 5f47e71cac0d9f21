/** Actions in a sentence, as people are told before they sign and read afterwards. */
import { labelOf } from '../../../formats/solana/name-rules.ts';
import { formatDuration, shortId } from '../../kit/format.ts';
import { texts } from '../../texts.ts';
import type { NameAction } from './action.ts';

export function sentenceOf({ action, name, body }: Pick<NameAction, 'action' | 'name' | 'body'>): string {
  const { words } = texts.names;
  const text = (key: string): string => String(body[key] ?? '');
  const count = (key: string): number => Number(body[key] ?? 0);
  const label = labelOf(name, text('undername') || '@');
  switch (action) {
    case 'buy-name': {
      const term = body.type === 'permabuy' ? words.forEver : words.forYears(count('years'));
      return words[action](name, term, shortId(text('ownerAddress')));
    }
    case 'extend-lease':
      return words[action](name, count('years'));
    case 'upgrade-name':
      return words[action](name);
    case 'increase-undername-limit':
      return words[action](name, count('increaseQty'));
    case 'set-record':
      return words[action](
        label,
        shortId(text('transactionId')),
        formatDuration(count('ttlSeconds') * 1_000),
      );
    case 'remove-record':
    case 'set-record-metadata':
    case 'remove-record-metadata':
      return words[action](label);
    case 'transfer-record':
      return words[action](label, shortId(text('target')));
    case 'add-controller':
    case 'remove-controller':
    case 'transfer':
      return words[action](name, shortId(text('target')));
  }
}
