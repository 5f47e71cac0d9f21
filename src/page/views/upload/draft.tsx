/** What will be uploaded: the files with their types and tags, the folder's address, and what it costs. */
import { useSignal } from '@preact/signals';
import type { Approval } from '../../../formats/approval.ts';
import { Button, LinkButton } from '../../kit/button.tsx';
import { Card, Columns, Fact, Facts } from '../../kit/card.tsx';
import { Checkbox, Select } from '../../kit/form.tsx';
import { formatBytes, formatCredits, formatDollars } from '../../kit/format.ts';
import { Loaded, useLoad } from '../../kit/load.tsx';
import { Skeleton } from '../../kit/state.tsx';
import type { Column } from '../../kit/table.tsx';
import { Amount, Badge, Bytes, Id } from '../../kit/value.tsx';
import { balanceOf, rates } from '../../services/payment.ts';
import { texts } from '../../texts.ts';
import { openWalletChooser, type Wallet, wallet } from '../../wallet/wallet.ts';
import { DropZone } from './choose.tsx';
import { type Cost, useCost } from './cost.ts';
import { EditFile, TagAll } from './edit-tags.tsx';
import type { UploadEntry } from './engine/entry.ts';
import { mostFiles } from './engine/take-files.ts';
import { FileName, shownName } from './file-name.tsx';
import { Rows } from './rows.tsx';
import {
  batch,
  changeBatch,
  changeEntry,
  clear,
  entries,
  hasFile,
  isElsewhere,
  removeEntry,
  start,
  tagAll,
} from './state.ts';

const words = texts.upload;

export function DraftView() {
  const chosen = entries.value;
  const cost = useCost(batch.value, chosen, wallet.value);
  if (chosen.length === 0) {
    return (
      <>
        <DropZone title={words.drop} />
        <div class="upload-explain soft">
          {words.explain.map((line) => (
            <p key={line}>{line}</p>
          ))}
        </div>
      </>
    );
  }
  return (
    <>
      {isElsewhere.value && <p class="soft">{words.elsewhere}</p>}
      <Files cost={cost.value} />
      <DropZone title={words.dropMore} small />
      <Columns>
        {batch.value.isFolder && <Folder />}
        <Card title={words.cost}>
          <Loaded of={cost}>{(value) => <Paying cost={value} />}</Loaded>
        </Card>
      </Columns>
    </>
  );
}

function Files({ cost }: { readonly cost: Cost | undefined }) {
  const edited = useSignal<string | undefined>(undefined);
  const isTaggingAll = useSignal(false);
  const list = entries.value;
  const bytes = list.reduce((sum, { size }) => sum + size, 0);
  const columns: readonly Column<UploadEntry>[] = [
    { id: 'name', head: words.name, wide: true, cell: (entry) => <NameCell entry={entry} /> },
    {
      id: 'price',
      head: words.price,
      align: 'end',
      cell: (entry) => <PriceCell entry={entry} cost={cost} />,
    },
    { id: 'size', head: words.size, align: 'end', cell: ({ size }) => <Bytes of={size} /> },
    {
      id: 'type',
      head: words.type,
      cell: ({ type, tags }) => (
        <span class="type-cell">
          <bdi class="foreign mono">{type}</bdi>
          {tags.length > 0 && <Badge>{words.tagCount(tags.length)}</Badge>}
        </span>
      ),
    },
    {
      id: 'actions',
      head: <span class="unseen">{words.actions}</span>,
      align: 'end',
      cell: ({ key, path }) => (
        <span class="row-actions">
          <Button
            small
            kind="quiet"
            label={words.editFile(shownName(path))}
            onClick={() => {
              edited.value = key;
            }}
          >
            {words.edit}
          </Button>
          <Button
            small
            kind="quiet"
            label={words.removeFile(shownName(path))}
            onClick={() => removeEntry(key)}
          >
            {words.remove}
          </Button>
        </span>
      ),
    },
  ];
  const inEdit = list.find(({ key }) => key === edited.value);
  const close = (): void => {
    edited.value = undefined;
    isTaggingAll.value = false;
  };
  return (
    <Card
      title={words.filesAndBytes(list.length, formatBytes(bytes))}
      actions={
        <>
          <Button
            small
            onClick={() => {
              isTaggingAll.value = true;
            }}
          >
            {words.tagAll}
          </Button>
          <Button small onClick={clear}>
            {words.clear}
          </Button>
        </>
      }
    >
      <LeftOut />
      <Rows caption={words.files(list.length)} columns={columns} rows={list} rowKey={({ key }) => key} />
      {inEdit !== undefined && (
        <EditFile
          entry={inEdit}
          onClose={close}
          onSave={(change) => {
            changeEntry(inEdit.key, change);
            close();
          }}
        />
      )}
      {isTaggingAll.value && (
        <TagAll
          tags={list[0]?.tags ?? []}
          onClose={close}
          onSave={(tags) => {
            tagAll(tags);
            close();
          }}
        />
      )}
    </Card>
  );
}

function NameCell({ entry }: { readonly entry: UploadEntry }) {
  return (
    <span>
      <FileName path={entry.path} />
      {!hasFile(entry.key) && <span class="row-note tone-warn">{words.fileMissing}</span>}
    </span>
  );
}

function PriceCell({ entry, cost }: { readonly entry: UploadEntry; readonly cost: Cost | undefined }) {
  const price = cost?.priceOf(entry);
  if (price === undefined) return <span class="soft">…</span>;
  if (price.winc === 0n) return <Badge tone="good">{words.free}</Badge>;
  return <Amount winc={price.winc} />;
}

function LeftOut() {
  const { hidden, tooMany } = batch.value;
  return (
    <>
      {hidden.length > 0 && (
        <p class="soft">
          {words.hidden(hidden.length)} <FileName path={hidden[0] ?? ''} />
        </p>
      )}
      {tooMany > 0 && <p class="tone-warn">{words.tooMany(tooMany, mostFiles)}</p>}
    </>
  );
}

function Folder() {
  const { hasManifest, plan } = batch.value;
  const pages = [
    { value: '', label: words.noPage },
    ...entries.value.map(({ path }) => ({ value: path, label: shownName(path) })),
  ];
  return (
    <Card title={words.folder}>
      <div class="form">
        <Checkbox
          label={words.asFolder}
          hint={words.asFolderHint}
          checked={hasManifest}
          onChange={(checked) => changeBatch({ hasManifest: checked })}
        />
        {hasManifest && (
          <>
            <Select
              label={words.index}
              hint={words.indexHint}
              value={plan.index}
              options={pages}
              onChange={(index) => changeBatch({ plan: { ...plan, index } })}
            />
            <Select
              label={words.fallback}
              hint={words.fallbackHint}
              value={plan.fallback}
              options={pages}
              onChange={(fallback) => changeBatch({ plan: { ...plan, fallback } })}
            />
          </>
        )}
      </div>
    </Card>
  );
}

const balanceEveryMs = 5_000;

function Paying({ cost }: { readonly cost: Cost }) {
  const chosen = wallet.value;
  return chosen === undefined ? (
    <>
      <Facts>
        <PriceFact cost={cost} />
      </Facts>
      <p class="soft">{words.needWalletNote}</p>
      <div class="actions upload-next">
        <Button kind="primary" onClick={() => openWalletChooser()}>
          {words.needWallet}
        </Button>
      </div>
    </>
  ) : (
    <PayingWith cost={cost} chosen={chosen} />
  );
}

/** What is there, and what is missing; it follows a top-up in another tab. */
function PayingWith({ cost, chosen }: { readonly cost: Cost; readonly chosen: Wallet }) {
  const { address, label, source } = chosen;
  const balance = useLoad((signal) => balanceOf(address, signal), [address], { everyMs: balanceEveryMs });
  const { winc } = cost.total;
  const missingFiles = entries.value.filter(({ key }) => !hasFile(key)).length;
  const isLent = batch.value.paidBy.length > 0;
  const there = isLent ? balance.value?.effectiveWinc : balance.value?.winc;
  const isShort = there !== undefined && there < winc;
  return (
    <>
      <Facts>
        <PriceFact cost={cost} />
        <Fact label={words.wallet}>
          {label} <Id value={address} what={words.wallet} />
        </Fact>
        {winc > 0n && (
          <Fact label={words.balance}>
            <Loaded of={balance} skeleton={<Skeleton lines={1} />}>
              {({ received }) => <Credits there={there ?? 0n} price={winc} received={received} />}
            </Loaded>
          </Fact>
        )}
      </Facts>
      {cost.hasTooLarge && (
        <p class="tone-bad" role="alert">
          {words.tooLarge(formatBytes(cost.terms.maxItemBytes))}
        </p>
      )}
      {missingFiles > 0 && <p class="tone-warn">{words.filesMissing(missingFiles)}</p>}
      {source === 'injected' && <p class="soft">{words.promptsNote(cost.items, batch.value.hasManifest)}</p>}
      <div class="actions upload-next">
        {isShort && (
          <LinkButton href="/wallet/top-up" kind="primary">
            {words.topUp}
          </LinkButton>
        )}
        <Button
          kind={isShort ? 'plain' : 'primary'}
          disabled={cost.hasTooLarge || missingFiles > 0}
          onClick={() => void start()}
        >
          {words.start(entries.value.length)}
        </Button>
      </div>
      {isShort && <p class="soft">{words.topUpNote}</p>}
    </>
  );
}

interface CreditsProps {
  readonly there: bigint;
  readonly price: bigint;
  readonly received: readonly Approval[];
}

function Credits({ there, price, received }: CreditsProps) {
  const lenders = [...new Set(received.map(({ payingAddress }) => payingAddress))];
  return (
    <>
      <Amount winc={there} />
      {there < price && <p class="tone-warn">{words.shortBy(formatCredits(price - there))}</p>}
      {lenders.length > 0 && (
        <Checkbox
          label={words.useLent}
          checked={batch.value.paidBy.length > 0}
          onChange={(checked) => changeBatch({ paidBy: checked ? lenders : [] })}
        />
      )}
    </>
  );
}

function PriceFact({ cost }: { readonly cost: Cost }) {
  const { winc, isExact } = cost.total;
  const { freeBytes } = cost.terms;
  const text = formatCredits(winc);
  return (
    <Fact label={words.price}>
      {winc === 0n ? (
        <strong>{words.costFree}</strong>
      ) : (
        <>
          <strong class="number">{isExact ? text : words.costAbout(text)}</strong> <Dollars winc={winc} />
        </>
      )}
      <p class="soft">
        {words.costNote} {freeBytes > 0 && words.freeNote(formatBytes(freeBytes))}
      </p>
    </Fact>
  );
}

/** At the rate that credits are bought for now. */
function Dollars({ winc }: { readonly winc: bigint }) {
  const { value } = useLoad(rates, []);
  const perWinc = (value?.fiat.usd ?? 0) / (value?.winc ?? 1);
  if (!(perWinc > 0)) return null;
  return <span class="soft">{words.inDollars(formatDollars(Number(winc) * perWinc))}</span>;
}
