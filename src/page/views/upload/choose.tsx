/** Where files and folders are dropped, or chosen with a button. */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Button } from '../../kit/button.tsx';
import { Icon } from '../../kit/icon.tsx';
import { Problem } from '../../kit/state.tsx';
import { texts } from '../../texts.ts';
import type { FoundFile } from './engine/take-files.ts';
import { filesOfDrop, filesOfInput } from './read-drop.ts';
import { addFiles } from './state.ts';

const words = texts.upload;

interface DropZoneProps {
  readonly title: string;
  readonly small?: boolean;
  readonly children?: ComponentChildren;
}

export function DropZone({ title, small = false, children }: DropZoneProps) {
  const isOver = useSignal(false);
  const problem = useSignal<Error | undefined>(undefined);
  const take = (reading: Promise<FoundFile[]> | FoundFile[]): void => {
    problem.value = undefined;
    Promise.resolve(reading)
      .then(addFiles)
      .catch((error: unknown) => {
        problem.value = error instanceof Error ? error : new Error(String(error));
      });
  };
  useStrayDrops();
  return (
    <>
      <section
        aria-label={title}
        class={`drop-zone${small ? ' drop-zone-small' : ''}${isOver.value ? ' drop-zone-over' : ''}`}
        onDragEnter={(event) => {
          event.preventDefault();
          isOver.value = true;
        }}
        onDragOver={(event) => event.preventDefault()}
        onDragLeave={(event) => {
          // Into a part of it is not out of it.
          const to = event.relatedTarget;
          if (!(to instanceof Node && event.currentTarget.contains(to))) isOver.value = false;
        }}
        onDrop={(event) => {
          event.preventDefault();
          isOver.value = false;
          if (event.dataTransfer !== null) take(filesOfDrop(event.dataTransfer));
        }}
      >
        <Icon name="upload" size={small ? 24 : 40} />
        <p class="drop-title">{isOver.value ? words.dropNow : title}</p>
        <p class="soft">{words.orChoose}</p>
        <div class="actions">
          <FileButton label={words.chooseFiles} primary={!small} take={take} />
          <FileButton label={words.chooseFolder} folder take={take} />
        </div>
        {children}
      </section>
      {problem.value !== undefined && <Problem error={problem.value} />}
    </>
  );
}

interface FileButtonProps {
  readonly label: string;
  readonly folder?: boolean;
  readonly primary?: boolean;
  readonly small?: boolean;
  readonly take: (files: FoundFile[]) => void;
}

function FileButton({ label, folder = false, primary = false, small = false, take }: FileButtonProps) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <input
        ref={input}
        type="file"
        hidden
        multiple
        {...(folder && { webkitdirectory: true })}
        onChange={(event) => {
          take(filesOfInput(event.currentTarget));
          // The same files can be chosen again.
          event.currentTarget.value = '';
        }}
      />
      <Button kind={primary ? 'primary' : 'plain'} small={small} onClick={() => input.current?.click()}>
        {label}
      </Button>
    </>
  );
}

/** What is dropped beside the zone would take the place of the page. */
function useStrayDrops(): void {
  useEffect(() => {
    const end = new AbortController();
    for (const kind of ['dragover', 'drop']) {
      window.addEventListener(kind, (event) => event.preventDefault(), { signal: end.signal });
    }
    return () => end.abort();
  }, []);
}
