import { useState } from 'preact/hooks';
import { Button } from '../../kit/button.tsx';
import { Fact, Facts } from '../../kit/card.tsx';
import { formatCount } from '../../kit/format.ts';
import { Id } from '../../kit/value.tsx';
import { gatewayUrl } from '../../services/gateway.ts';
import { settings } from '../../services/settings.ts';
import { texts } from '../../texts.ts';
import { sandboxUrl } from './ids.ts';
import type { ManifestFolder, ManifestTree } from './manifest-tree.ts';

/** The paths of a manifest: each can be opened as readers open it, or looked at here. */
export function ManifestView({ id, tree }: { readonly id: string; readonly tree: ManifestTree }) {
  const words = texts.explorer.manifest;
  return (
    <div class="explorer-stack">
      <Facts>
        <Fact label={words.paths}>{formatCount(tree.count)}</Fact>
        {tree.index !== undefined && (
          <Fact label={words.index}>
            <bdi class="foreign">{tree.index}</bdi>
          </Fact>
        )}
        {tree.fallback !== undefined && (
          <Fact label={words.fallback}>
            <Id value={tree.fallback} href={`/tx/${tree.fallback}`} />
          </Fact>
        )}
      </Facts>
      <Folder id={id} folder={tree.root} isOpen={tree.count <= openUpTo} />
      {tree.leftOut > 0 && <p class="soft">{words.leftOut(formatCount(tree.leftOut))}</p>}
    </div>
  );
}

const shownAtFirst = 100;
/** Small trees are seen whole at once. */
const openUpTo = 50;

function Folder({
  id,
  folder,
  isOpen,
}: {
  readonly id: string;
  readonly folder: ManifestFolder;
  readonly isOpen: boolean;
}) {
  const words = texts.explorer.manifest;
  const [shown, setShown] = useState(shownAtFirst);
  const isRoot = folder.name === '';
  const [seen, setSeen] = useState(isOpen || isRoot);
  const rest = folder.files.length - shown;
  const inside = seen && (
    <ul class="explorer-tree">
      {folder.folders.map((each) => (
        <li key={each.name}>
          <Folder id={id} folder={each} isOpen={isOpen} />
        </li>
      ))}
      {folder.files.slice(0, shown).map((file) => (
        <li key={file.path} class="explorer-file">
          <a href={openHref(id, file.path)} target="_blank" rel="noopener noreferrer">
            <bdi class="foreign">{file.name}</bdi>
          </a>
          <Id value={file.id} href={`/tx/${file.id}`} />
        </li>
      ))}
      {rest > 0 && (
        <li>
          <Button kind="quiet" small onClick={() => setShown(shown + 1_000)}>
            {words.more(formatCount(rest))}
          </Button>
        </li>
      )}
    </ul>
  );
  if (isRoot) return <>{inside}</>;
  return (
    <details open={isOpen} onToggle={(event) => event.currentTarget.open && setSeen(true)}>
      <summary>
        <bdi class="foreign">{folder.name}</bdi>
      </summary>
      {inside}
    </details>
  );
}

function openHref(id: string, path: string): string {
  const { sandbox } = settings();
  return sandboxUrl(sandbox ?? gatewayUrl(), id, path);
}
