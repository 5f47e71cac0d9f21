/** One payment by its id: a deposit that nobody reported is found on its chain and credited. */
import { useState } from 'preact/hooks';
import { Button } from '../../kit/button.tsx';
import { Card, Fact, Facts } from '../../kit/card.tsx';
import { Form, TextField } from '../../kit/form.tsx';
import { formatCoin } from '../../kit/format.ts';
import type { Tone } from '../../kit/tone.ts';
import { Amount, Badge, Id } from '../../kit/value.tsx';
import { type FoundPayment, findPayment } from '../../services/payment.ts';
import { tokenFacts } from '../../services/tokens.ts';
import { texts } from '../../texts.ts';
import { formatMoney } from './amounts.ts';

const words = texts.wallet.findPayment;

export function FindPayment() {
  const [id, setId] = useState('');
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState<Error | undefined>(undefined);
  const [found, setFound] = useState<FoundPayment | undefined>(undefined);
  const look = async (): Promise<void> => {
    if (id.trim() === '') return;
    setBusy(true);
    setFailure(undefined);
    setFound(undefined);
    try {
      setFound(await findPayment(id.trim()));
    } catch (error) {
      setFailure(error as Error);
    }
    setBusy(false);
  };
  return (
    <Card title={words.title}>
      <p class="soft">{words.note}</p>
      <Form onSubmit={look} busy={isBusy} error={failure}>
        <TextField label={words.id} hint={words.idHint} value={id} onInput={setId} maxLength={200} />
        <div class="actions">
          <Button submit busy={isBusy}>
            {words.look}
          </Button>
        </div>
      </Form>
      {found !== undefined && <Found payment={found} />}
    </Card>
  );
}

const tones: Readonly<Record<string, Tone>> = {
  credited: 'good',
  pending: 'warn',
  'not-mined': 'warn',
  unclear: 'warn',
};

function Found({ payment }: { readonly payment: FoundPayment }) {
  const { state, explanation, winc, address, sender } = payment;
  const paid = paidText(payment);
  return (
    <div role="status">
      <Facts>
        <Fact label={words.state}>
          <Badge tone={tones[state] ?? 'bad'}>{words.states[state] ?? state}</Badge>
          <p class="soft">{explanation}</p>
        </Fact>
        {paid !== undefined && <Fact label={words.paid}>{paid}</Fact>}
        {winc !== undefined && (
          <Fact label={words.credits}>
            <Amount winc={BigInt(winc)} />
          </Fact>
        )}
        {sender != null && (
          <Fact label={words.sender}>
            <Id value={sender} what={words.sender} />
          </Fact>
        )}
        {address != null && (
          <Fact label={words.account}>
            <Id value={address} what={words.account} href={`/account/${encodeURIComponent(address)}`} />
          </Fact>
        )}
      </Facts>
    </div>
  );
}

function paidText({ kind, amount, currency }: FoundPayment): string | undefined {
  if (amount === undefined || currency === undefined || !/^[0-9]{1,40}$/.test(amount)) return undefined;
  if (kind === 'card') return formatMoney(Number(amount), currency, currency !== 'jpy');
  const facts = tokenFacts(currency);
  return facts && formatCoin(BigInt(amount), facts.decimals, facts.symbol);
}
