/** Who owns a name and who may change it. */
import { useState } from 'preact/hooks';
import { Button } from '../../kit/button.tsx';
import { Card, Columns } from '../../kit/card.tsx';
import { Form, TextField } from '../../kit/form.tsx';
import { Empty } from '../../kit/state.tsx';
import { Id } from '../../kit/value.tsx';
import type { NameNow, NameToken } from '../../services/names.ts';
import { texts } from '../../texts.ts';
import { isSolanaAddress } from './addresses.ts';
import { isCustodial, ownerWanted } from './ownership-of.ts';
import { propose } from './proposal.ts';

const { name: words } = texts.names;
const mostControllers = 4;

export function OwnershipTab({ now }: { readonly now: NameNow }) {
  return (
    <Columns>
      {isCustodial(now) ? <TakeOut now={now} /> : <Transfer now={now} />}
      {now.token === undefined ? (
        <Empty title={words.unknown} />
      ) : (
        !isCustodial(now) && <Controllers now={now} token={now.token} />
      )}
    </Columns>
  );
}

function Transfer({ now }: { readonly now: NameNow }) {
  const { name, antId, token } = now;
  return (
    <Card title={words.transfer} tone="warn">
      <p>{words.transferNote}</p>
      <AddressForm
        button={words.transfer}
        label={words.transferLabel}
        taken={token?.owner}
        takenText={words.same_owner}
        send={(target) =>
          propose({
            action: 'transfer',
            name,
            fields: { antId, target },
            owner: ownerWanted(now),
            isFinal: true,
          })
        }
      />
    </Card>
  );
}

/** The buyer's wallet asks for it; no owner has to sign, because the service is it. */
function TakeOut({ now: { name, antId, token } }: { readonly now: NameNow }) {
  return (
    <Card title={words.custodial} tone="info">
      <p>{words.custodialNote}</p>
      <AddressForm
        button={words.transfer}
        label={words.transferLabel}
        taken={undefined}
        takenText=""
        send={(target) =>
          propose({
            action: 'transfer',
            name,
            fields: { antId, ownerAddress: token?.owner, target },
            owner: 'nobody',
            isFinal: true,
          })
        }
      />
    </Card>
  );
}

function Controllers({ now, token }: { readonly now: NameNow; readonly token: NameToken }) {
  const { name, antId, service } = now;
  const { controllers, owner } = token;
  const change = (action: 'add-controller' | 'remove-controller', target: string): void =>
    propose({ action, name, fields: { antId, target }, owner: ownerWanted(now) });
  const isFull = controllers.length >= mostControllers;
  return (
    <Card title={words.controllers}>
      <p>{words.controllersNote}</p>
      <ul class="names-list">
        {controllers.map((address) => (
          <li key={address}>
            <Id value={address} />
            <span class="soft">
              {address === service ? words.isService : address === owner ? words.isOwner : ''}
            </span>
            {address !== owner && (
              <Button
                small
                label={`${words.remove} ${address}`}
                onClick={() => change('remove-controller', address)}
              >
                {words.remove}
              </Button>
            )}
          </li>
        ))}
      </ul>
      {service !== undefined && !controllers.includes(service) && !isFull && (
        <div class="names-note">
          <p>{words.addServiceNote}</p>
          <Button onClick={() => change('add-controller', service)}>{words.addService}</Button>
        </div>
      )}
      {!isFull && (
        <AddressForm
          button={words.addController}
          label={words.controllerLabel}
          taken={undefined}
          takenText=""
          send={(target) => change('add-controller', target)}
        />
      )}
    </Card>
  );
}

interface AddressFormProps {
  readonly label: string;
  readonly button: string;
  readonly taken: string | undefined;
  readonly takenText: string;
  readonly send: (address: string) => void;
}

function AddressForm({ label, button, taken, takenText, send }: AddressFormProps) {
  const [address, setAddress] = useState('');
  const error =
    address === ''
      ? undefined
      : !isSolanaAddress(address)
        ? words.notSolana
        : address === taken
          ? takenText
          : undefined;
  return (
    <Form
      onSubmit={() => {
        if (address !== '' && error === undefined) send(address);
      }}
    >
      <TextField
        label={label}
        value={address}
        onInput={(text) => setAddress(text.trim())}
        mono
        error={error}
      />
      <div class="actions">
        <Button submit disabled={address === '' || error !== undefined}>
          {button}
        </Button>
      </div>
    </Form>
  );
}
