/** An owner: in every form of the address, what it has, what it sent and received. */
import type { Place } from '../../app/location.ts';
import { Card, Fact, Facts, Figure, Figures } from '../../kit/card.tsx';
import { formatCoin, formatCredits } from '../../kit/format.ts';
import { Loaded, useLoad } from '../../kit/load.tsx';
import { PageTitle } from '../../kit/page-title.tsx';
import { Empty } from '../../kit/state.tsx';
import { Tabs } from '../../kit/tabs.tsx';
import { Id } from '../../kit/value.tsx';
import { decodeBase64 } from '../../services/encoding.ts';
import { findNode, readBalance, readPage } from '../../services/gateway.ts';
import { readOwned, readReceipts } from '../../services/names.ts';
import { balanceOf } from '../../services/payment.ts';
import { readSolanaBalance } from '../../services/solana.ts';
import { texts } from '../../texts.ts';
import { type AddressKind, addressKind, normalizedOfSolana } from './addresses.ts';
import { EntryList } from './entry-list.tsx';
import { listQuery } from './filter.ts';
import { type OwnerForms, ownerForms } from './proof/owner-forms.ts';

interface Props {
  readonly address: string;
  readonly place: Place;
}

export function AddressPage({ address, place }: Props) {
  const words = texts.explorer.addressPage;
  const kind = addressKind(address);
  return (
    <>
      <PageTitle title={words.title} note={<bdi class="mono">{address.slice(0, 128)}</bdi>} />
      {kind === undefined ? (
        <Empty title={words.noAddress}>{texts.explorer.searchHelp}</Empty>
      ) : (
        <Owner address={address} kind={kind} place={place} />
      )}
    </>
  );
}

interface Known {
  readonly forms: OwnerForms | undefined;
  readonly coins: string | undefined;
  readonly credits: bigint | undefined;
  readonly names: readonly string[];
}

function Owner({ address, kind, place }: Props & { readonly kind: AddressKind }) {
  const words = texts.explorer.addressPage;
  const given = place.query.get('owner') ?? undefined;
  const known = useLoad((signal) => readOwner(address, kind, given, signal), [address, given]);
  const tab = place.query.get('show') === 'received' ? 'received' : 'sent';
  const href = (show: string) => {
    const query = new URLSearchParams({ ...(given !== undefined && { owner: given }), show });
    return `/address/${address}?${query}`;
  };
  return (
    <Loaded of={known}>
      {({ forms, coins, credits, names }) => (
        <>
          <Figures>
            {coins !== undefined && <Figure label={words.balance} value={coins} />}
            <Figure
              label={words.credits}
              value={credits === undefined ? words.unknown : formatCredits(credits)}
              href={`/account/${forms?.native ?? address}`}
            />
            <Figure label={words.names} value={names.length} />
          </Figures>
          <Card title={words.forms}>
            <Facts>
              <Fact label={words.chain}>{words.chains[forms?.chain ?? kind]}</Fact>
              <Fact label={words.native}>
                <Id value={forms?.native ?? address} full what={words.native} />
              </Fact>
              {forms !== undefined && forms.normalized !== forms.native && (
                <Fact label={words.normalized}>
                  <Id value={forms.normalized} full what={words.normalized} />
                </Fact>
              )}
              {names.length > 0 && (
                <Fact label={words.names}>
                  <span class="explorer-links">
                    {names.map((name) => (
                      <a key={name} href={`/name/${encodeURIComponent(name)}`}>
                        {name}
                      </a>
                    ))}
                  </span>
                </Fact>
              )}
            </Facts>
            {forms === undefined && <p class="soft">{words.keyUnknown}</p>}
          </Card>
          {forms !== undefined && (
            <Card title={words.entries}>
              <Tabs
                label={words.entries}
                current={tab}
                tabs={[
                  { id: 'sent', label: words.sent, href: href('sent') },
                  { id: 'received', label: words.received, href: href('received') },
                ]}
              />
              <EntryList
                key={tab}
                filter={
                  tab === 'sent'
                    ? { tags: [], owner: forms.normalized }
                    : { tags: [], recipient: forms.normalized }
                }
                caption={tab === 'sent' ? words.sent : words.received}
                live
              />
            </Card>
          )}
        </>
      )}
    </Loaded>
  );
}

async function readOwner(
  address: string,
  kind: AddressKind,
  given: string | undefined,
  signal: AbortSignal,
): Promise<Known> {
  const forms = await formsOf(address, kind, given, signal);
  const native = forms?.native ?? address;
  const [coins, credits, names] = await Promise.all([
    coinsOf(native, forms?.chain ?? kind, signal).catch(() => undefined),
    balanceOf(native, signal).then(
      ({ winc }) => winc,
      () => undefined,
    ),
    namesOf(native, forms?.chain ?? kind, signal).catch(() => []),
  ]);
  return { forms, coins, credits, names };
}

/** Those it has, of an address that can own names; else those that were bought by or for it. */
async function namesOf(
  address: string,
  chain: OwnerForms['chain'],
  signal: AbortSignal,
): Promise<readonly string[]> {
  const owned = chain === 'solana' ? await readOwned(address, signal) : undefined;
  const names = (owned ?? (await readReceipts(address, signal))).map(({ name }) => name);
  return [...new Set(names)];
}

/** The key that an owner's entries bear tells all forms; without an entry only what follows from the address itself. */
async function formsOf(
  address: string,
  kind: AddressKind,
  given: string | undefined,
  signal: AbortSignal,
): Promise<OwnerForms | undefined> {
  // Some texts are addresses of either chain: what the index knows decides.
  const asArweave =
    kind === 'solana' && address.length === 43 ? await signedForms(address, signal) : undefined;
  if (asArweave !== undefined) return asArweave;
  const normalized = kind === 'arweave' ? address : kind === 'solana' ? normalizedOfSolana(address) : given;
  if (normalized === undefined) return undefined;
  const signed = await signedForms(normalized, signal);
  // An address that somebody put into the link must be the same owner's.
  if (kind === 'ethereum') return signed?.native.toLowerCase() === address.toLowerCase() ? signed : undefined;
  if (signed !== undefined && kind === 'arweave') return signed;
  return { normalized, native: address, chain: kind };
}

async function signedForms(owner: string, signal: AbortSignal): Promise<OwnerForms | undefined> {
  const { text, variables } = listQuery({ tags: [], owner }, 1);
  const [row] = (await readPage(text, variables, signal)).rows;
  const node = row && (await findNode(row.id, signal));
  const key = node && decodeBase64(node.owner.key);
  if (!key || key.length === 0) return undefined;
  const forms = ownerForms(node.signatureType ?? 1, key);
  return forms.normalized === owner ? forms : undefined;
}

async function coinsOf(
  address: string,
  chain: OwnerForms['chain'],
  signal: AbortSignal,
): Promise<string | undefined> {
  if (chain === 'arweave') return formatCoin(await readBalance(address, signal), 12, 'AR');
  if (chain === 'solana') return formatCoin(await readSolanaBalance(address, signal), 9, 'SOL');
  return undefined;
}
