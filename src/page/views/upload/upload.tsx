/** Upload: a new one, the receipts of earlier ones, and one receipt. */

import { useEffect, useRef } from 'preact/hooks';
import type { Place } from '../../app/location.ts';
import { PageTitle } from '../../kit/page-title.tsx';
import { Skeleton } from '../../kit/state.tsx';
import { Tabs } from '../../kit/tabs.tsx';
import { texts } from '../../texts.ts';
import { DraftView } from './draft.tsx';
import { HistoryView } from './history.tsx';
import { ReceiptView } from './receipt.tsx';
import { RunningView } from './running.tsx';
import { batch, isRestored } from './state.ts';

const words = texts.upload;
const tabs = [
  { id: 'new', label: words.fresh, href: '/upload' },
  { id: 'history', label: words.history, href: '/upload/history' },
];

export default function UploadView({ place }: { readonly place: Place }) {
  const [, part, id] = place.segments;
  if (part === 'history' && id !== undefined) return <ReceiptView id={id} />;
  const isHistory = part === 'history';
  return (
    <>
      <PageTitle title={texts.sections.upload} note={isHistory ? words.historyNote : words.note} />
      <Tabs label={words.parts} tabs={tabs} current={isHistory ? 'history' : 'new'} />
      {isHistory ? <HistoryView /> : <NewUpload />}
    </>
  );
}

function NewUpload() {
  const { isDraft } = batch.value;
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // The button that was pressed is gone with what was shown before.
    if (document.activeElement === document.body) box.current?.focus({ preventScroll: true });
  }, [isDraft]);
  if (!isRestored.value) return <Skeleton lines={6} />;
  return (
    <div class="upload-new" tabIndex={-1} ref={box}>
      {isDraft ? <DraftView /> : <RunningView />}
    </div>
  );
}
