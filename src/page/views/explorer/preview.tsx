/**
 * Content as people see it. It is a stranger's: images and sounds are only drawn and played, text is text, and what could
 * run anything is shown in a frame whose origin is nobody's but its own.
 */
import { useState } from 'preact/hooks';
import { tryParseJson } from '../../../formats/json.ts';
import { Button, LinkButton } from '../../kit/button.tsx';
import { formatBytes } from '../../kit/format.ts';
import { Code, Json } from '../../kit/json.tsx';
import { Loaded, useLoad } from '../../kit/load.tsx';
import { Empty } from '../../kit/state.tsx';
import { gatewayUrl, readContent } from '../../services/gateway.ts';
import { settings } from '../../services/settings.ts';
import { texts } from '../../texts.ts';
import { sandboxUrl } from './ids.ts';
import { readManifest } from './manifest-tree.ts';
import { ManifestView } from './manifest-view.tsx';
import {
  hexLines,
  maxHexBytes,
  maxJsonBytes,
  maxManifestBytes,
  maxShownBytes,
  maxTextBytes,
  previewKind,
} from './preview-kind.ts';

interface Props {
  readonly id: string;
  readonly contentType: string;
  readonly size: number | undefined;
}

export function Preview(props: Props) {
  const kind = previewKind(props.contentType, props.size);
  const words = texts.explorer.preview;
  switch (kind) {
    case 'nothing':
      return <p class="soft">{words.nothing}</p>;
    case 'image':
    case 'audio':
    case 'video':
      return <Media {...props} kind={kind} />;
    case 'pdf':
    case 'page':
      return <Framed {...props} kind={kind} />;
    default:
      return <Text {...props} kind={kind} />;
  }
}

/** Straight from the gateway: a picture runs nothing, not even an SVG. */
function Media({ id, size, kind }: Props & { readonly kind: 'image' | 'audio' | 'video' }) {
  const words = texts.explorer.preview;
  const [isAsked, setAsked] = useState((size ?? 0) <= maxShownBytes[kind]);
  const [isBroken, setBroken] = useState(false);
  const url = `${gatewayUrl()}/raw/${id}`;
  if (!isAsked) return <Ask size={size} onAsk={() => setAsked(true)} />;
  if (isBroken) return <Empty title={words.broken}>{words.brokenHelp}</Empty>;
  const common = { src: url, class: 'explorer-media', onError: () => setBroken(true) };
  if (kind === 'image')
    return <img {...common} alt={words.image} loading="lazy" referrerpolicy="no-referrer" />;
  // Captions of what strangers stored are not ours to have.
  if (kind === 'audio') return <audio {...common} controls preload="metadata" aria-label={words.audio} />;
  return <video {...common} controls preload="metadata" aria-label={words.video} />;
}

/**
 * A page runs its scripts in a sandbox without an origin. A PDF cannot be shown in a sandbox by any browser: its frame has
 * the origin of its own host, where nothing else lives, and a type that is no page's.
 */
function Framed({ id, size, kind }: Props & { readonly kind: 'page' | 'pdf' }) {
  const words = texts.explorer.preview;
  const [view, setView] = useState<'ask' | 'frame' | 'source'>(
    kind === 'pdf' && (size ?? 0) <= maxShownBytes.pdf ? 'frame' : 'ask',
  );
  const { sandbox } = settings();
  if (sandbox === undefined)
    return kind === 'page' ? <Text id={id} size={size} contentType="" kind="text" /> : <NoOrigin id={id} />;
  const url = sandboxUrl(sandbox, id);
  const shared = {
    class: 'explorer-frame',
    src: url,
    title: kind === 'page' ? words.page : words.pdf,
    referrerpolicy: 'no-referrer',
    allow: '',
    loading: 'lazy',
  } as const;
  return (
    <div class="explorer-stack">
      {kind === 'page' && (
        <div class="explorer-bar">
          <span class="soft">{words.pageNote}</span>
          <div class="actions">
            <Button small pressed={view === 'frame'} onClick={() => setView('frame')}>
              {words.showPage}
            </Button>
            <Button small pressed={view === 'source'} onClick={() => setView('source')}>
              {words.showSource}
            </Button>
          </div>
        </div>
      )}
      {view === 'ask' && kind === 'pdf' && <Ask size={size} onAsk={() => setView('frame')} />}
      {view === 'frame' &&
        (kind === 'page' ? <iframe {...shared} sandbox="allow-scripts" /> : <iframe {...shared} />)}
      {view === 'source' && <Text id={id} size={size} contentType="" kind="text" />}
      {kind === 'pdf' && <p class="soft">{words.pdfNote}</p>}
    </div>
  );
}

function NoOrigin({ id }: { readonly id: string }) {
  const words = texts.explorer.preview;
  return (
    <Empty
      title={words.noOrigin}
      action={
        <LinkButton outside href={`${gatewayUrl()}/raw/${id}`}>
          {words.download}
        </LinkButton>
      }
    />
  );
}

function Ask({ size, onAsk }: { readonly size: number | undefined; readonly onAsk: () => void }) {
  const words = texts.explorer.preview;
  return (
    <Empty
      title={words.large(formatBytes(size ?? 0))}
      action={<Button onClick={onAsk}>{words.showAnyway}</Button>}
    />
  );
}

const limits = { text: maxTextBytes, json: maxJsonBytes, manifest: maxManifestBytes, bytes: maxHexBytes };

function Text({ id, size, kind }: Props & { readonly kind: keyof typeof limits }) {
  const words = texts.explorer.preview;
  const read = useLoad((signal) => readContent(id, limits[kind], signal), [id, kind]);
  return (
    <Loaded of={read}>
      {({ bytes, isCut }) => (
        <div class="explorer-stack">
          <Shown id={id} bytes={bytes} isCut={isCut} kind={kind} />
          {isCut && (
            <p class="soft">{words.cut(formatBytes(limits[kind]), formatBytes(size ?? bytes.length))}</p>
          )}
          {kind === 'bytes' && (
            <div class="actions">
              <LinkButton href={`${gatewayUrl()}/raw/${id}`} outside>
                {words.download}
              </LinkButton>
            </div>
          )}
        </div>
      )}
    </Loaded>
  );
}

interface ShownProps {
  readonly id: string;
  readonly bytes: Uint8Array;
  readonly isCut: boolean;
  readonly kind: keyof typeof limits;
}

function Shown({ id, bytes, isCut, kind }: ShownProps) {
  const words = texts.explorer.preview;
  if (kind === 'bytes') return <Code text={hexLines(bytes)} what={words.bytes} />;
  const text = new TextDecoder().decode(bytes);
  if (kind === 'text' || isCut) return <Code text={text} what={words.text} />;
  if (kind === 'manifest') {
    const tree = readManifest(text);
    return tree === undefined ? (
      <Code text={text.slice(0, maxTextBytes)} what={words.text} />
    ) : (
      <ManifestView id={id} tree={tree} />
    );
  }
  const value = tryParseJson(text);
  return value === undefined ? (
    <Code text={text.slice(0, maxTextBytes)} what={words.text} />
  ) : (
    <Json value={value} />
  );
}
