/** Messages about what was done, at the edge of the page; they leave by themselves, but bad news waits to be read. */
import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { texts } from '../texts.ts';
import { clampText } from './format.ts';
import { Icon, type IconName } from './icon.tsx';
import type { Tone } from './tone.ts';

export interface Notice {
  readonly tone: Tone;
  readonly text: string;
  readonly href?: string | undefined;
}

const mostShown = 4;
const shownForMs = 6000;

const notices = signal<readonly (Notice & { readonly id: number })[]>([]);
let lastId = 0;

export function notify(notice: Notice): void {
  lastId += 1;
  notices.value = [...notices.value, { ...notice, id: lastId }].slice(-mostShown);
}

const dismiss = (id: number): void => {
  notices.value = notices.value.filter((notice) => notice.id !== id);
};

const icons: Readonly<Record<Tone, IconName>> = {
  neutral: 'info',
  info: 'info',
  good: 'done',
  warn: 'warn',
  bad: 'bad',
};

/** Mounted once, by the frame around the views. */
export function Notices() {
  const box = useRef<HTMLDivElement>(null);
  const shown = notices.value;
  useEffect(() => {
    // An open dialog is above the page; a popover that is opened after it is above that.
    const element = box.current;
    if (element === null || typeof element.showPopover !== 'function') return;
    if (element.matches(':popover-open')) element.hidePopover();
    if (shown.length > 0) element.showPopover();
  }, [shown]);
  return (
    <div class="notices" ref={box} popover="manual" role="status" aria-label={texts.kit.notices}>
      {shown.map((notice) => (
        <NoticeLine key={notice.id} notice={notice} close={() => dismiss(notice.id)} />
      ))}
    </div>
  );
}

function NoticeLine({ notice, close }: { readonly notice: Notice; readonly close: () => void }) {
  const line = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (notice.tone === 'bad') return undefined;
    const timer = setInterval(() => {
      // Who points at it or is in it is still reading.
      if (line.current?.matches(':hover, :focus-within') !== true) close();
    }, shownForMs);
    return () => clearInterval(timer);
  }, []);
  return (
    <div class={`notice notice-${notice.tone}`} ref={line}>
      <Icon name={icons[notice.tone]} />
      <span>{clampText(notice.text, 400)}</span>
      {notice.href !== undefined && <a href={notice.href}>{texts.kit.showNotice}</a>}
      <button type="button" class="icon-button" aria-label={texts.kit.close} onClick={close}>
        <Icon name="close" size={16} />
      </button>
    </div>
  );
}
