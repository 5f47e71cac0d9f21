/** The dialog in which a wallet is chosen: one of this browser's, of the local network, or a key made here. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Button } from '../kit/button.tsx';
import { Dialog } from '../kit/dialog.tsx';
import { Checkbox } from '../kit/form.tsx';
import { shortId } from '../kit/format.ts';
import { Icon } from '../kit/icon.tsx';
import { Loaded, useLoad } from '../kit/load.tsx';
import { Problem } from '../kit/state.tsx';
import { settings } from '../services/settings.ts';
import { texts } from '../texts.ts';
import { connectInjected, connectLocal, connectMade, injectedWallets } from './connect.ts';
import { localAddresses } from './local.ts';
import { type KeyFile, listMadeKeys, makeKey } from './made.ts';
import { chooser, closeWalletChooser, type WalletKind } from './wallet.ts';

const allKinds: readonly WalletKind[] = ['arweave', 'ethereum', 'solana'];
const words = texts.wallet.chooser;

/** Mounted once, beside the views. */
export function WalletChooser() {
  const asked = chooser.value;
  if (asked === undefined) return null;
  const kinds = allKinds.filter((kind) => asked.kinds === undefined || asked.kinds.includes(kind));
  return (
    <Dialog open title={words.title} wide onClose={closeWalletChooser}>
      <Choices kinds={kinds} isNarrowed={asked.kinds !== undefined} />
    </Dialog>
  );
}

interface ChoicesProps {
  readonly kinds: readonly WalletKind[];
  /** Whoever asks cannot use every kind. */
  readonly isNarrowed: boolean;
}

function Choices({ kinds, isNarrowed }: ChoicesProps) {
  const [busy, setBusy] = useState<string | undefined>(undefined);
  const [failure, setFailure] = useState<Error | undefined>(undefined);
  /** One at a time; the dialog closes by itself when a wallet is in use. */
  const choose = (id: string, connect: () => Promise<void>): void => {
    if (busy !== undefined) return;
    setBusy(id);
    setFailure(undefined);
    connect()
      .catch((error: Error) => setFailure(error))
      .finally(() => setBusy(undefined));
  };
  return (
    <div class="wallet-choices">
      {isNarrowed && <p>{words.needs(kinds.map((kind) => texts.wallet.kinds[kind]))}</p>}
      {failure !== undefined && <Problem error={failure} />}
      <Injected kinds={kinds} busy={busy} choose={choose} />
      {settings().controlsLocalNetwork && <Local kinds={kinds} busy={busy} choose={choose} />}
      <MadeHere kinds={kinds} busy={busy} choose={choose} />
    </div>
  );
}

interface PartProps {
  readonly kinds: readonly WalletKind[];
  readonly busy: string | undefined;
  readonly choose: (id: string, connect: () => Promise<void>) => void;
}

function Injected({ kinds, busy, choose }: PartProps) {
  const wallets = injectedWallets.value.filter(({ kind }) => kinds.includes(kind));
  return (
    <section class="wallet-part">
      <h3>{words.injected}</h3>
      {wallets.length === 0 && <p class="soft">{words.noneInjected}</p>}
      <ul class="wallet-list">
        {wallets.map((wallet) => (
          <li key={`${wallet.kind} ${wallet.id}`}>
            <ChoiceButton
              busy={busy === `${wallet.kind} ${wallet.id}`}
              onClick={() => choose(`${wallet.kind} ${wallet.id}`, () => connectInjected(wallet))}
              icon={
                wallet.icon === undefined ? (
                  <Icon name="wallet" />
                ) : (
                  <img src={wallet.icon} alt="" width={20} height={20} />
                )
              }
              name={wallet.name}
              note={texts.wallet.kinds[wallet.kind]}
            />
          </li>
        ))}
      </ul>
    </section>
  );
}

function Local({ kinds, busy, choose }: PartProps) {
  const [kind, setKind] = useState<WalletKind>(kinds[0] ?? 'arweave');
  const addresses = useLoad(localAddresses, []);
  return (
    <section class="wallet-part">
      <h3>{words.local}</h3>
      <p class="soft">{words.localNote}</p>
      <KindButtons kinds={kinds} kind={kind} onChange={setKind} label={words.localKind} />
      <p class="soft">{words.localHas[kind]}</p>
      <Loaded of={addresses}>
        {(known) => (
          <ul class="wallet-list wallet-list-small">
            {(known?.[kind] ?? []).map((address, index) => (
              <li key={address}>
                <ChoiceButton
                  busy={busy === address}
                  onClick={() => choose(address, () => connectLocal(kind, index))}
                  name={texts.wallet.localLabel(index + 1)}
                  note={shortId(address)}
                  mono
                />
              </li>
            ))}
          </ul>
        )}
      </Loaded>
    </section>
  );
}

function MadeHere({ kinds, busy, choose }: PartProps) {
  const [kind, setKind] = useState<WalletKind>(kinds[0] ?? 'arweave');
  const [wantsCopy, setWantsCopy] = useState(true);
  const keys = useLoad(listMadeKeys, []);
  const make = async (): Promise<void> => {
    const { address, file } = await makeKey(kind);
    if (wantsCopy) downloadKey(file);
    await connectMade(address);
  };
  return (
    <section class="wallet-part">
      <h3>{words.made}</h3>
      <p class="soft">{words.madeNote}</p>
      <Loaded of={keys}>
        {(known) => (
          <ul class="wallet-list wallet-list-small">
            {known
              .filter((key) => kinds.includes(key.kind))
              .map(({ kind: keyKind, address }) => (
                <li key={address}>
                  <ChoiceButton
                    busy={busy === address}
                    onClick={() => choose(address, () => connectMade(address))}
                    name={texts.wallet.kinds[keyKind]}
                    note={shortId(address)}
                    mono
                  />
                </li>
              ))}
          </ul>
        )}
      </Loaded>
      <KindButtons kinds={kinds} kind={kind} onChange={setKind} label={words.madeKind} />
      <Checkbox label={words.copy} hint={words.copyHint} checked={wantsCopy} onChange={setWantsCopy} />
      <div class="actions">
        <Button busy={busy === 'make'} onClick={() => choose('make', make)}>
          {words.make(texts.wallet.kinds[kind])}
        </Button>
        <output class="soft">{busy === 'make' && kind === 'arweave' ? words.making : ''}</output>
      </div>
    </section>
  );
}

interface KindButtonsProps {
  readonly kinds: readonly WalletKind[];
  readonly kind: WalletKind;
  readonly onChange: (kind: WalletKind) => void;
  readonly label: string;
}

function KindButtons({ kinds, kind, onChange, label }: KindButtonsProps) {
  if (kinds.length < 2) return null;
  return (
    <fieldset class="actions wallet-kinds" aria-label={label}>
      {kinds.map((each) => (
        <Button key={each} small pressed={each === kind} onClick={() => onChange(each)}>
          {texts.wallet.kinds[each]}
        </Button>
      ))}
    </fieldset>
  );
}

interface ChoiceButtonProps {
  readonly busy: boolean;
  readonly onClick: () => void;
  readonly icon?: ComponentChildren;
  readonly name: string;
  readonly note: string;
  readonly mono?: boolean;
}

function ChoiceButton({ busy, onClick, icon, name, note, mono = false }: ChoiceButtonProps) {
  return (
    <button type="button" class="wallet-choice" aria-busy={busy || undefined} onClick={onClick}>
      {icon}
      <bdi class="wallet-choice-name">{name}</bdi>
      <span class={mono ? 'soft mono' : 'soft'}>{busy ? words.asking : note}</span>
    </button>
  );
}

/** The browser's own download: the file is nowhere else. */
function downloadKey({ name, type, text }: KeyFile): void {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
