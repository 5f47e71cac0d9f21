/** Puts a gift into the wallet in use. A link may bring its number along. */
import { useState } from 'preact/hooks';
import type { Place } from '../../app/location.ts';
import { Button } from '../../kit/button.tsx';
import { Card } from '../../kit/card.tsx';
import { Form, TextField } from '../../kit/form.tsx';
import { formatCredits } from '../../kit/format.ts';
import { notify } from '../../kit/notify.tsx';
import { PageTitle } from '../../kit/page-title.tsx';
import { redeemGift } from '../../services/payment.ts';
import { texts } from '../../texts.ts';
import { needWallet } from '../../wallet/wallet.ts';

const words = texts.wallet.redeem;

export function Redeem({ place }: { readonly place: Place }) {
  const [id, setId] = useState(place.query.get('id') ?? '');
  const [email, setEmail] = useState('');
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState<Error | undefined>(undefined);
  const redeem = async (): Promise<void> => {
    const wallet = await needWallet();
    if (wallet === undefined) return;
    setBusy(true);
    setFailure(undefined);
    try {
      const { address, kind } = wallet;
      const { userBalance } = await redeemGift({ id: id.trim(), email: email.trim(), address, kind });
      notify({ tone: 'good', text: words.done(formatCredits(BigInt(userBalance))), href: '/wallet' });
      setId('');
      setEmail('');
    } catch (error) {
      setFailure(error as Error);
    }
    setBusy(false);
  };
  return (
    <>
      <PageTitle title={words.title} note={words.note} />
      <div class="wallet-narrow">
        <Card>
          <Form onSubmit={redeem} busy={isBusy} error={failure}>
            <TextField label={words.id} mono value={id} onInput={setId} maxLength={100} />
            <TextField label={words.email} type="email" value={email} onInput={setEmail} maxLength={254} />
            <div class="actions">
              <Button kind="primary" submit busy={isBusy} disabled={id.trim() === '' || email.trim() === ''}>
                {words.redeem}
              </Button>
            </div>
          </Form>
        </Card>
      </div>
    </>
  );
}
