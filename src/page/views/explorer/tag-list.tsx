import { useState } from 'preact/hooks';
import { Button } from '../../kit/button.tsx';
import { clampText } from '../../kit/format.ts';
import { Copy } from '../../kit/value.tsx';
import { texts } from '../../texts.ts';

interface Tag {
  readonly name: string;
  readonly value: string;
}

const shownAtFirst = 30;
const mostShown = 1_000;
const shownValue = 300;

/** Anybody may have written anything: tags are text, cut where they are long, each in a direction of its own. */
export function TagList({ tags }: { readonly tags: readonly Tag[] }) {
  const words = texts.explorer.tagList;
  const [isWhole, setWhole] = useState(false);
  if (tags.length === 0) return <p class="soft">{words.none}</p>;
  return (
    <>
      <ul class="explorer-tags">
        {tags.slice(0, isWhole ? mostShown : shownAtFirst).map(({ name, value }, at) => (
          <li key={at}>
            <div>
              <bdi class="foreign soft">{clampText(name, 100)}</bdi>
              <bdi class="foreign explorer-cut">{clampText(value, shownValue)}</bdi>
            </div>
            <span class="explorer-tag-actions">
              <a href={`/tag/${encodeURIComponent(name)}/${encodeURIComponent(value)}`}>{words.findSame}</a>
              <Copy text={value} what={words.valueOf(clampText(name, 40))} />
            </span>
          </li>
        ))}
      </ul>
      {tags.length > shownAtFirst && !isWhole && (
        <Button kind="quiet" small onClick={() => setWhole(true)}>
          {words.all(tags.length)}
        </Button>
      )}
    </>
  );
}
