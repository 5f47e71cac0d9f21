/** Forms: every field has a label that can be seen, a hint, and its own error. */
import type { ComponentChildren, HTMLAttributes, TargetedEvent } from 'preact';
import { useId } from 'preact/hooks';
import { texts } from '../texts.ts';
import { Problem } from './state.tsx';

interface FormProps {
  readonly onSubmit: () => void;
  /** What was sent is under way: nothing more is sent until then. */
  readonly busy?: boolean | undefined;
  readonly error?: Error | string | undefined;
  readonly children: ComponentChildren;
}

export function Form({ onSubmit, busy = false, error, children }: FormProps) {
  return (
    <form
      class="form"
      aria-busy={busy || undefined}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        if (!busy) onSubmit();
      }}
    >
      {children}
      {error !== undefined && <Problem error={typeof error === 'string' ? new Error(error) : error} />}
    </form>
  );
}

interface FieldProps {
  readonly label: string;
  readonly hint?: ComponentChildren;
  readonly error?: string | undefined;
}

interface Described {
  readonly id: string;
  readonly 'aria-describedby': string | undefined;
  readonly 'aria-invalid': true | undefined;
}

function Field({
  label,
  hint,
  error,
  children,
}: FieldProps & { children: (field: Described) => ComponentChildren }) {
  const id = useId();
  const describedBy = [hint === undefined ? '' : `${id}-hint`, error === undefined ? '' : `${id}-error`]
    .filter((part) => part !== '')
    .join(' ');
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({
        id,
        'aria-describedby': describedBy === '' ? undefined : describedBy,
        'aria-invalid': error === undefined ? undefined : true,
      })}
      {hint !== undefined && (
        <span class="hint" id={`${id}-hint`}>
          {hint}
        </span>
      )}
      {error !== undefined && (
        <span class="field-error" id={`${id}-error`}>
          {error}
        </span>
      )}
    </div>
  );
}

const inputTypes = {
  text: { type: 'text' },
  search: { type: 'search' },
  password: { type: 'password' },
  email: { type: 'email' },
  url: { type: 'url' },
  date: { type: 'date' },
  'datetime-local': { type: 'datetime-local' },
} as const;

interface TextFieldProps extends FieldProps {
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly mono?: boolean | undefined;
  readonly type?: keyof typeof inputTypes | undefined;
  readonly placeholder?: string | undefined;
  readonly required?: boolean | undefined;
  readonly disabled?: boolean | undefined;
  readonly maxLength?: number | undefined;
  readonly inputMode?: HTMLAttributes['inputMode'];
  readonly autoComplete?: string | undefined;
  /** Proposals; of a field of text. */
  readonly list?: readonly string[] | undefined;
  /** Gets the focus when it is first shown: for dialogs. */
  readonly focused?: boolean | undefined;
}

export function TextField({ label, hint, error, ...props }: TextFieldProps) {
  const { value, onInput, mono = false, type = 'text', list, focused = false, ...rest } = props;
  const { autoComplete = 'off', ...input } = rest;
  const listId = useId();
  return (
    <Field label={label} hint={hint} error={error}>
      {(field) => {
        const attributes = {
          ...field,
          ...input,
          class: mono ? 'mono' : undefined,
          value,
          autocomplete: autoComplete,
          spellcheck: false,
          'data-focus': focused || undefined,
          ref: focused ? focusOnce : null,
          onInput: (event: TargetedEvent<HTMLInputElement>) => onInput(event.currentTarget.value),
        };
        if (list === undefined) return <input {...attributes} {...inputTypes[type]} />;
        return (
          <>
            <input {...attributes} type="text" list={listId} />
            <datalist id={listId}>
              {list.map((each) => (
                <option key={each} value={each} />
              ))}
            </datalist>
          </>
        );
      }}
    </Field>
  );
}

function focusOnce(element: HTMLInputElement | null): void {
  element?.focus();
}

interface NumberFieldProps extends FieldProps {
  /** As it is written, so that a half-written number is not taken away. */
  readonly value: string;
  readonly onInput: (value: string) => void;
  /** What it is counted in, beside the field. */
  readonly unit?: string | undefined;
  readonly placeholder?: string | undefined;
  readonly disabled?: boolean | undefined;
  readonly required?: boolean | undefined;
}

export function NumberField({ value, onInput, unit, label, hint, error, ...input }: NumberFieldProps) {
  const isWrong = value.trim() !== '' && !/^-?\d*(?:\.\d*)?$/.test(value.trim());
  return (
    <Field label={label} hint={hint} error={error ?? (isWrong ? texts.kit.notANumber : undefined)}>
      {(field) => (
        <span class="with-unit">
          <input
            {...field}
            {...input}
            type="text"
            inputMode="decimal"
            class="number"
            autocomplete="off"
            value={value}
            onInput={(event) => onInput(event.currentTarget.value)}
          />
          {unit !== undefined && <span class="soft">{unit}</span>}
        </span>
      )}
    </Field>
  );
}

export interface Option<V extends string = string> {
  readonly value: V;
  readonly label: string;
  readonly disabled?: boolean | undefined;
}

interface SelectProps<V extends string> extends FieldProps {
  readonly value: V;
  readonly options: readonly Option<V>[];
  readonly onChange: (value: V) => void;
  readonly disabled?: boolean | undefined;
}

export function Select<V extends string>({ value, options, onChange, disabled, ...field }: SelectProps<V>) {
  return (
    <Field {...field}>
      {(described) => (
        <select
          {...described}
          disabled={disabled}
          value={value}
          onChange={(event) => {
            const chosen = options.find((option) => option.value === event.currentTarget.value);
            if (chosen !== undefined) onChange(chosen.value);
          }}
        >
          {options.map((option) => (
            <option key={option.value} value={option.value} disabled={option.disabled}>
              {option.label}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

interface CheckboxProps {
  readonly label: ComponentChildren;
  readonly hint?: ComponentChildren;
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
  readonly disabled?: boolean | undefined;
}

export function Checkbox({ label, hint, checked, onChange, disabled }: CheckboxProps) {
  const id = useId();
  return (
    <div class="field checkbox">
      <input
        type="checkbox"
        id={id}
        checked={checked}
        disabled={disabled}
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      <label for={id}>{label}</label>
      {hint !== undefined && (
        <span class="hint" id={`${id}-hint`}>
          {hint}
        </span>
      )}
    </div>
  );
}

interface TextAreaProps extends FieldProps {
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly rows?: number | undefined;
  readonly mono?: boolean | undefined;
  readonly placeholder?: string | undefined;
  readonly disabled?: boolean | undefined;
  readonly maxLength?: number | undefined;
}

export function TextArea({
  value,
  onInput,
  mono = false,
  rows = 4,
  label,
  hint,
  error,
  ...input
}: TextAreaProps) {
  return (
    <Field label={label} hint={hint} error={error}>
      {(field) => (
        <textarea
          {...field}
          {...input}
          rows={rows}
          class={mono ? 'mono' : undefined}
          spellcheck={!mono}
          value={value}
          onInput={(event) => onInput(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}
