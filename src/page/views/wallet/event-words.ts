/** An event of a wallet as people read it: a sentence, how good the news is, and where more of it is. */
import { clampText, formatBytes, formatCredits, formatTime, shortId } from '../../kit/format.ts';
import type { Tone } from '../../kit/tone.ts';
import type { WalletEvent } from '../../services/wallet-events.ts';
import { texts } from '../../texts.ts';

const words = texts.wallet.notices.events;

export interface EventWords {
  readonly text: string;
  readonly tone: Tone;
  readonly href?: string;
}

export function describeEvent({ type, data }: WalletEvent): EventWords {
  const text = (name: string): string => {
    const value = data[name];
    return typeof value === 'string' ? clampText(value, 100) : '';
  };
  const credits = (name: string): string => formatCredits(amountOf(data[name]));
  const item = { href: `/tx/${text('id')}` };
  const name = text('name') === '' ? shortId(text('antId')) : text('name');
  const named = text('name') === '' ? {} : { href: `/name/${text('name')}` };
  switch (type) {
    case 'credits.paid':
      return { text: words.paid(credits('winc')), tone: 'good' };
    case 'credits.spent':
      return { text: words.spent(credits('winc')), tone: 'neutral' };
    case 'credits.refunded':
      return { text: words.refunded(credits('winc')), tone: 'good' };
    case 'credits.taken':
      return { text: words.taken(credits('winc')), tone: 'warn' };
    case 'credits.shared': {
      const [payer, approved] = [shortId(text('payer')), shortId(text('approved'))];
      if (data.state === 'given') {
        return { text: words.lent(credits('winc'), payer, approved), tone: 'info', href: '/wallet/share' };
      }
      const back = words.lentBack(credits('returnedWinc'), payer, approved);
      return { text: back, tone: 'neutral', href: '/wallet/share' };
    }
    case 'credits.low':
      return {
        text: words.low(credits('balance'), numberOf(data.lastsFor)),
        tone: 'warn',
        href: '/wallet/top-up',
      };
    case 'upload.receipt':
      return {
        text: words.receipt(formatBytes(numberOf(data.size) ?? 0), credits('winc'), data.paid === 'free'),
        tone: 'info',
        ...item,
      };
    case 'upload.bundled':
      return { text: words.bundled(shortId(text('id'))), tone: 'info', ...item };
    case 'upload.permanent':
      return { text: words.permanent(shortId(text('id'))), tone: 'good', ...item };
    case 'upload.failed':
      return { text: words.uploadFailed(shortId(text('id')), credits('refundedWinc')), tone: 'bad', ...item };
    case 'name.bought':
      return { text: words.bought(name), tone: 'good', ...named };
    case 'name.changed':
      return { text: words.changed(name, text('action')), tone: 'info', ...named };
    case 'name.failed':
      return { text: words.nameFailed(name, text('reason')), tone: 'bad', ...named };
    case 'name.lapsing':
      return { text: words.lapsing(name, formatTime(Date.parse(text('endsAt')))), tone: 'warn', ...named };
    case 'name.lapsed':
      return { text: words.lapsed(name), tone: 'bad', ...named };
  }
}

function amountOf(value: unknown): bigint {
  return typeof value === 'string' && /^-?[0-9]{1,40}$/.test(value) ? BigInt(value) : 0n;
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}
