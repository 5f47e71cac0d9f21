/** One field and one button, in a row: looks something up by what is entered. */
import { useState } from 'preact/hooks';
import { Button } from '../../kit/button.tsx';
import { Form, TextField } from '../../kit/form.tsx';

interface Props {
  readonly label: string;
  readonly button: string;
  readonly hint?: string;
  readonly start?: string;
  readonly busy?: boolean;
  /** Why it cannot be looked up; undefined where it can. */
  refusal(value: string): string | undefined;
  onFind(value: string): void;
}

export function FindForm({ label, button, hint, start = '', busy = false, refusal, onFind }: Props) {
  const [value, setValue] = useState(start);
  const [error, setError] = useState<string | undefined>(undefined);
  const submit = (): void => {
    const sought = value.trim();
    const why = refusal(sought);
    setError(why);
    if (why === undefined) onFind(sought);
  };
  return (
    <Form onSubmit={submit} busy={busy}>
      <div class="operator-row">
        <TextField
          label={label}
          value={value}
          onInput={setValue}
          hint={hint}
          error={error}
          mono
          maxLength={200}
        />
        <Button submit busy={busy} kind="primary">
          {button}
        </Button>
      </div>
    </Form>
  );
}
