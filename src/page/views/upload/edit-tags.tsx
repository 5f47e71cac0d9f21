/** The type and the tags of a file, or the tags of all. */
import { useState } from 'preact/hooks';
import type { Tag } from '../../../formats/avro-tags.ts';
import { areItemTags } from '../../items/item.ts';
import { Button } from '../../kit/button.tsx';
import { Dialog } from '../../kit/dialog.tsx';
import { Form, TextField } from '../../kit/form.tsx';
import { texts } from '../../texts.ts';
import { itemTags, type UploadEntry } from './engine/entry.ts';
import { FileName } from './file-name.tsx';

const words = texts.upload;
const mediaType = /^[\w!#$&^.+-]{1,127}\/[\w!#$&^.+-]{1,127}(?:\s*;\s*[\w-]+=[\w.+"-]+)*$/;
const usualTypes = [
  'text/plain',
  'text/html',
  'text/css',
  'text/javascript',
  'text/markdown',
  'application/json',
  'application/pdf',
  'image/png',
  'image/jpeg',
  'image/svg+xml',
  'audio/mpeg',
  'video/mp4',
  'application/octet-stream',
];

interface EditFileProps {
  readonly entry: UploadEntry;
  readonly onSave: (change: Pick<UploadEntry, 'type' | 'tags'>) => void;
  readonly onClose: () => void;
}

export function EditFile({ entry, onSave, onClose }: EditFileProps) {
  const [type, setType] = useState(entry.type);
  const [tags, setTags] = useState(entry.tags);
  const [isTried, setTried] = useState(false);
  const typeError = mediaType.test(type.trim()) ? undefined : words.typeWrong;
  const tagsError = problemOfTags({ type, tags });
  return (
    <Dialog open title={words.edit} onClose={onClose}>
      <p class="upload-edited">
        <FileName path={entry.path} />
      </p>
      <Form
        error={isTried ? tagsError : undefined}
        onSubmit={() => {
          setTried(true);
          if (typeError === undefined && tagsError === undefined) onSave({ type: type.trim(), tags });
        }}
      >
        <TextField
          label={words.type}
          hint={words.typeHint}
          error={isTried ? typeError : undefined}
          value={type}
          onInput={setType}
          list={usualTypes}
          mono
        />
        <TagFields tags={tags} onChange={setTags} />
        <SaveButtons onClose={onClose} />
      </Form>
    </Dialog>
  );
}

interface TagAllProps {
  readonly tags: readonly Tag[];
  readonly onSave: (tags: readonly Tag[]) => void;
  readonly onClose: () => void;
}

export function TagAll({ tags: before, onSave, onClose }: TagAllProps) {
  const [tags, setTags] = useState(before);
  const [isTried, setTried] = useState(false);
  const error = problemOfTags({ type: 'application/octet-stream', tags });
  return (
    <Dialog open title={words.tagAll} onClose={onClose}>
      <p class="soft upload-edited">{words.tagAllNote}</p>
      <Form
        error={isTried ? error : undefined}
        onSubmit={() => {
          setTried(true);
          if (error === undefined) onSave(tags);
        }}
      >
        <TagFields tags={tags} onChange={setTags} />
        <SaveButtons onClose={onClose} />
      </Form>
    </Dialog>
  );
}

function SaveButtons({ onClose }: { readonly onClose: () => void }) {
  return (
    <div class="actions actions-end">
      <Button onClick={onClose}>{texts.kit.cancel}</Button>
      <Button kind="primary" submit>
        {words.save}
      </Button>
    </div>
  );
}

interface TagFieldsProps {
  readonly tags: readonly Tag[];
  readonly onChange: (tags: readonly Tag[]) => void;
}

function TagFields({ tags, onChange }: TagFieldsProps) {
  const change = (at: number, part: Partial<Tag>): void =>
    onChange(tags.map((tag, index) => (index === at ? { ...tag, ...part } : tag)));
  return (
    <fieldset class="tag-fields">
      <legend>{words.tags}</legend>
      <p class="hint">{words.tagsHint}</p>
      {tags.map((tag, at) => (
        <div class="tag-field" key={at}>
          <TextField
            label={words.tagName(at + 1)}
            value={tag.name}
            onInput={(name) => change(at, { name })}
            maxLength={1_024}
          />
          <TextField
            label={words.tagValue(at + 1)}
            value={tag.value}
            onInput={(value) => change(at, { value })}
            maxLength={3_072}
          />
          <Button
            kind="quiet"
            label={words.removeTag(at + 1)}
            onClick={() => onChange(tags.filter((_, index) => index !== at))}
          >
            {words.remove}
          </Button>
        </div>
      ))}
      <Button small onClick={() => onChange([...tags, { name: '', value: '' }])}>
        {words.addTag}
      </Button>
    </fieldset>
  );
}

function problemOfTags(file: Pick<UploadEntry, 'type' | 'tags'>): string | undefined {
  if (file.tags.some(({ name }) => name === '')) return words.tagUnnamed;
  if (file.tags.some(({ name }) => name.toLowerCase() === 'content-type')) return words.tagReserved;
  return areItemTags(itemTags(file)) ? undefined : words.tagsTooLong;
}
