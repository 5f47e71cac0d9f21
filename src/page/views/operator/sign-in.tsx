/** How a person becomes the operator for a while. */
import { useState } from 'preact/hooks';
import type { OperatorService } from '../../../console/api.ts';
import { Button } from '../../kit/button.tsx';
import { Card } from '../../kit/card.tsx';
import { Dialog } from '../../kit/dialog.tsx';
import { Form, Select, TextField } from '../../kit/form.tsx';
import { PageTitle } from '../../kit/page-title.tsx';
import { hasEnded, openSession, session } from '../../services/operator/session.ts';
import { texts } from '../../texts.ts';
import { useAction } from './use-action.ts';

const words = texts.operator.signIn;
const services: readonly OperatorService[] = ['gateway', 'payment', 'upload', 'router'];

export function SignIn() {
  const action = useAction();
  const own = (): void =>
    action.run(async () => {
      await openSession({ own: true });
      return undefined;
    });
  return (
    <div class="operator-sign-in">
      <PageTitle title={words.title} note={words.note} />
      {hasEnded.value && (
        <p role="status" class="operator-ended">
          {words.ended}
        </p>
      )}
      {session.value?.ownKeys === true && (
        <Card>
          <p>{words.ownNote}</p>
          <Button kind="primary" busy={action.busy} onClick={own}>
            {words.own}
          </Button>
        </Card>
      )}
      <Card title={session.value?.ownKeys === true ? words.or : undefined}>
        <KeyForm />
      </Card>
    </div>
  );
}

interface KeyFormProps {
  readonly start?: OperatorService | 'all';
  done?(): void;
}

function KeyForm({ start = 'all', done }: KeyFormProps) {
  const [key, setKey] = useState('');
  const [service, setService] = useState<OperatorService | 'all'>(start);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<Error | string | undefined>(undefined);
  const submit = async (): Promise<void> => {
    const text = key.trim();
    if (text === '') {
      setError(words.needsKey);
      return;
    }
    setBusy(true);
    setError(undefined);
    try {
      await openSession({ key: text, ...(service !== 'all' && { for: [service] }) });
      setKey('');
      done?.();
    } catch (thrown) {
      setError(thrown instanceof Error ? thrown : String(thrown));
    } finally {
      setBusy(false);
    }
  };
  return (
    <Form onSubmit={() => void submit()} busy={busy} error={error}>
      <TextField
        label={words.key}
        type="password"
        value={key}
        onInput={setKey}
        hint={words.keyHint}
        mono
        maxLength={1024}
      />
      <Select
        label={words.for}
        value={service}
        onChange={setService}
        options={[
          { value: 'all' as const, label: words.all },
          ...services.map((value) => ({ value, label: texts.operator.services[value] })),
        ]}
      />
      <p class="soft">{words.keyNote}</p>
      <div class="actions">
        <Button submit kind="primary" busy={busy}>
          {words.submit}
        </Button>
      </div>
    </Form>
  );
}

/** A further key for the session that is open. */
export function AddKey({ service }: { readonly service: OperatorService }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button onClick={() => setOpen(true)}>{words.another}</Button>
      <Dialog open={isOpen} title={words.anotherTitle} onClose={() => setOpen(false)}>
        <KeyForm start={service} done={() => setOpen(false)} />
      </Dialog>
    </>
  );
}
