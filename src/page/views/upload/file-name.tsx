/** Names of files are foreign text: they stay what they are, and change nothing around them. */
import { clampText } from '../../kit/format.ts';

export function FileName({ path }: { readonly path: string }) {
  const cut = path.lastIndexOf('/') + 1;
  return (
    <bdi class="foreign file-name" title={clampText(path, 500)}>
      {cut > 0 && <span class="soft">{clampText(path.slice(0, cut), 60)}</span>}
      {clampText(path.slice(cut), 90)}
    </bdi>
  );
}

/** For labels of buttons. */
export const shownName = (path: string): string => clampText(path, 90);
