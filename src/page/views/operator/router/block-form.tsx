/** Puts something on the router's own list; for its own page: the console's form knows the gateway's list too. */
import { useState } from 'preact/hooks';
import { Button } from '../../../kit/button.tsx';
import { Card } from '../../../kit/card.tsx';
import { Form, Select, TextField } from '../../../kit/form.tsx';
import type { Ask } from '../../../services/operator/ask.ts';
import type { RouterBlock } from '../../../services/operator/router.ts';
import { texts } from '../../../texts.ts';
import { useAction } from '../use-action.ts';

const words = texts.operator.router;

export function RouterBlockForm({ ask, done }: { readonly ask: Ask; done(): void }) {
  const [type, setType] = useState<RouterBlock['type']>('arns');
  const [value, setValue] = useState('');
  const [reason, setReason] = useState('');
  const [error, setError] = useState<string | undefined>(undefined);
  const action = useAction();
  const submit = (): void => {
    const entry = { type, value: value.trim(), reason: reason.trim() };
    if (entry.value === '' || entry.reason === '') {
      setError(words.needsBoth);
      return;
    }
    setError(undefined);
    action.run(async () => {
      await ask('POST', 'moderation/block', entry);
      setValue('');
      setReason('');
      done();
      return words.blocked;
    });
  };
  return (
    <Card title={texts.operator.moderation.block}>
      <Form onSubmit={submit} busy={action.busy} error={error}>
        <div class="operator-row">
          <Select
            label={words.what}
            value={type}
            onChange={setType}
            options={(['arns', 'txid'] as const).map((each) => ({
              value: each,
              label: words.whats[each],
            }))}
          />
          <TextField label={words.value} value={value} onInput={setValue} mono maxLength={63} />
          <TextField label={words.reason} value={reason} onInput={setReason} maxLength={1024} />
          <Button submit kind="danger" busy={action.busy}>
            {words.block}
          </Button>
        </div>
      </Form>
    </Card>
  );
}
