/**
 * Before anything is signed: what happens, what it costs, who pays, who owns, and the very text that the wallet signs. What
 * is agreed here goes on as an action, shown in the same dialog.
 */
import { useMemo, useState } from 'preact/hooks';
import { Button, LinkButton } from '../../kit/button.tsx';
import { Fact, Facts } from '../../kit/card.tsx';
import { Dialog } from '../../kit/dialog.tsx';
import { Form, Select, TextField } from '../../kit/form.tsx';
import { formatCredits, formatDollars, shortId } from '../../kit/format.ts';
import { Code } from '../../kit/json.tsx';
import { Loaded, useLoad } from '../../kit/load.tsx';
import { Amount, Id } from '../../kit/value.tsx';
import {
  type ActionName,
  actionPath,
  actionPrice,
  buyByCard,
  isOnRecord,
  isPurchase,
  type NamePrice,
  type Purchase,
  priceOf,
  serviceAddress,
} from '../../services/names.ts';
import { type Balance, balanceOf } from '../../services/payment.ts';
import { texts } from '../../texts.ts';
import { requestText } from '../../wallet/request.ts';
import { openWalletChooser, type Wallet, wallet } from '../../wallet/wallet.ts';
import type { NameAction } from './action.ts';
import { agree, begin } from './kept-actions.ts';
import { type ActionBody, ownerProofText } from './owner-proof.ts';
import { ActionProgress } from './progress.tsx';
import { type Proposal, proposed } from './proposal.ts';
import { sentenceOf } from './words.ts';

/** Mounted once, by the section. */
export function ReviewDialog() {
  const proposal = proposed.value;
  if (proposal === undefined) return null;
  return <Review key={JSON.stringify([proposal.action, proposal.fields])} proposal={proposal} />;
}

const close = (): void => {
  proposed.value = undefined;
};

const { review: words } = texts.names;

function Review({ proposal }: { readonly proposal: Proposal }) {
  const { action, name } = proposal;
  const [begun, setBegun] = useState<string | undefined>(undefined);
  const title = texts.names.progress.title(texts.names.actionTitles[action], name);
  return (
    <Dialog open title={title} onClose={close} wide>
      {begun === undefined ? (
        <Terms proposal={proposal} begun={setBegun} />
      ) : (
        <ActionProgress id={begun} close={close} />
      )}
    </Dialog>
  );
}

interface Price {
  readonly winc: bigint;
  readonly cents: number | undefined;
}

interface TermsProps {
  readonly proposal: Proposal;
  readonly begun: (id: string) => void;
}

function Terms({ proposal, begun }: TermsProps) {
  const { action, name, owner: wanted, isFinal = false } = proposal;
  const [way, setWay] = useState(proposal.way ?? 'credits');
  const [typed, setTyped] = useState('');
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<Error | undefined>(undefined);
  const id = useMemo(() => crypto.randomUUID(), []);
  const { payer, owner, other, payWithOther } = useParties(wanted);
  const body = bodyOf(proposal, owner);
  const price = useLoad<Price>(
    (abort) => readPrice(proposal, abort),
    [action, JSON.stringify(proposal.fields)],
  );
  const balance = useLoad<Balance | undefined>(
    async (abort) => (payer === undefined ? undefined : await balanceOf(payer.address, abort)),
    [payer?.address],
    { everyMs: 5_000 },
  );
  const cost = price.value;
  const isCard = way === 'card';
  const lacking =
    cost === undefined || balance.value === undefined || isCard
      ? 0n
      : cost.winc - balance.value.effectiveWinc;
  const problem = partiesProblem(wanted, payer, owner, isCard);
  const isReady =
    payer !== undefined &&
    problem === undefined &&
    cost !== undefined &&
    lacking <= 0n &&
    (!isFinal || typed === name);

  async function go(): Promise<void> {
    if (payer === undefined || cost === undefined) return;
    setBusy(true);
    setError(undefined);
    const now = Date.now();
    const paidBy = isCard ? [] : lenders(balance.value, cost.winc);
    const begunAction: NameAction = {
      id,
      way,
      action,
      name,
      body: paidBy.length === 0 ? body : { ...body, paidBy },
      payer: { kind: payer.kind, address: payer.address, label: payer.label },
      ...(ownerOf(wanted, owner) !== undefined && { owner: ownerOf(wanted, owner) ?? '' }),
      asksOwner: !isCard && asksOwner(action) && wanted !== 'nobody',
      stage: isCard ? 'paying' : 'agreed',
      createdAt: now,
      changedAt: now,
      price: isCard ? String(cost.cents ?? 0) : cost.winc.toString(),
    };
    try {
      if (isCard) await checkout(begunAction);
      else {
        await agree(begunAction);
        begun(id);
        await begin(begunAction, payer, owner);
      }
    } catch (thrown) {
      setError(thrown instanceof Error ? thrown : new Error(String(thrown)));
      setBusy(false);
    }
  }

  return (
    <Form onSubmit={go} busy={isBusy} error={error}>
      <p class="names-sentence">
        <bdi>{sentenceOf({ action, name, body })}</bdi>
      </p>
      <Facts>
        <Fact label={words.price}>
          <Loaded of={price}>{(value) => <PriceText price={value} />}</Loaded>
        </Fact>
        {payer !== undefined && (
          <Fact label={isCard ? words.boughtFor : words.paidBy}>
            <WalletText wallet={payer} />
            {other !== undefined && (
              <Button kind="quiet" small onClick={payWithOther}>
                {words.payWith(other.label)}
              </Button>
            )}
          </Fact>
        )}
        <OwnerFact wanted={wanted} owner={owner} />
        {payer !== undefined && !isCard && cost !== undefined && (
          <Fact label={words.credits}>
            <Loaded of={balance}>
              {(value) => value && <CreditsLeft balance={value} cost={cost.winc} />}
            </Loaded>
          </Fact>
        )}
      </Facts>
      {isPurchase(action) && cost?.cents !== undefined && (
        <Select
          label={words.way}
          value={way}
          options={[
            { value: 'credits', label: words.ways.credits },
            { value: 'card', label: words.ways.card },
          ]}
          onChange={setWay}
          {...(isCard && { hint: words.byCardNote })}
        />
      )}
      {isCard &&
        action === 'buy-name' &&
        payer !== undefined &&
        payer.kind !== 'solana' &&
        owner === undefined && <p class="soft">{words.cardKept}</p>}
      <PartiesNote wanted={wanted} payer={payer} problem={problem} isCard={isCard} />
      {isFinal && (
        <TextField label={words.typeName(name)} value={typed} onInput={setTyped} mono autoComplete="off" />
      )}
      {!isCard && payer !== undefined && problem === undefined && (
        <details class="names-signs">
          <summary>{words.signs}</summary>
          <SignedTexts
            action={action}
            body={body}
            id={id}
            payer={payer}
            asksOwner={asksOwner(action) && wanted !== 'nobody'}
          />
        </details>
      )}
      <div class="actions actions-end">
        <Button onClick={close}>{texts.kit.cancel}</Button>
        <Button kind={isFinal ? 'danger' : 'primary'} submit busy={isBusy} disabled={!isReady}>
          {isCard
            ? words.goCard(formatDollars((cost?.cents ?? 0) / 100))
            : words.go(cost === undefined ? '…' : formatCredits(cost.winc))}
        </Button>
      </div>
    </Form>
  );
}

/**
 * Who pays and who owns. A wallet that cannot own names pays, and goes on paying when a Solana wallet is connected as the
 * owner.
 */
function useParties(wanted: Proposal['owner']) {
  const connected = wallet.value;
  const [first, setFirst] = useState<Wallet | undefined>(connected);
  const isOwnerElsewhere =
    wanted !== 'nobody' && first !== undefined && first.kind !== 'solana' && connected?.kind === 'solana';
  const payer = isOwnerElsewhere ? first : connected;
  const owner = connected?.kind === 'solana' ? connected : undefined;
  const other = isOwnerElsewhere ? connected : undefined;
  return { payer, owner, other, payWithOther: () => setFirst(connected) };
}

function partiesProblem(
  wanted: Proposal['owner'],
  payer: Wallet | undefined,
  owner: Wallet | undefined,
  isCard: boolean,
): string | undefined {
  if (payer === undefined) return wanted === 'nobody' || isCard ? words.noWallet : words.noOwner;
  if (wanted === 'nobody' || isCard) return undefined;
  if (owner === undefined) return words.cannotOwn(payer.label);
  if (wanted !== 'any' && wanted.address !== owner.address) return words.notOwner(shortId(wanted.address));
  return owner.signSolanaTransaction === undefined ? words.cannotSign(owner.label) : undefined;
}

interface PartiesNoteProps {
  readonly wanted: Proposal['owner'];
  readonly payer: Wallet | undefined;
  readonly problem: string | undefined;
  readonly isCard: boolean;
}

function PartiesNote({ wanted, payer, problem, isCard }: PartiesNoteProps) {
  if (problem === undefined) return null;
  const isConnected = payer !== undefined;
  return (
    <div class="names-note" role="status">
      <p>{problem}</p>
      <Button
        kind="primary"
        onClick={() => openWalletChooser(wanted === 'nobody' || isCard ? undefined : ['solana'])}
      >
        {isConnected || !(wanted === 'nobody' || isCard) ? words.chooseOwner : words.connect}
      </Button>
    </div>
  );
}

function WalletText({ wallet: shown }: { readonly wallet: Wallet }) {
  return (
    <>
      {shown.label} <Id value={shown.address} />
    </>
  );
}

interface OwnerFactProps {
  readonly wanted: Proposal['owner'];
  readonly owner: Wallet | undefined;
}

/** The wallet that owns the name or will, connected or not. */
function OwnerFact({ wanted, owner }: OwnerFactProps) {
  const address = ownerOf(wanted, owner);
  if (address === undefined) return null;
  return (
    <Fact label={words.owner}>
      {owner?.address === address ? <WalletText wallet={owner} /> : <Id value={address} />}
    </Fact>
  );
}

function PriceText({ price: { winc, cents } }: { readonly price: Price }) {
  return (
    <>
      <Amount winc={winc} />
      {cents !== undefined && <span class="soft"> · {formatDollars(cents / 100)}</span>}
    </>
  );
}

function CreditsLeft({ balance, cost }: { readonly balance: Balance; readonly cost: bigint }) {
  const left = balance.effectiveWinc - cost;
  if (left < 0n) {
    return (
      <span class="names-missing">
        {words.missing(formatCredits(-left))}{' '}
        <LinkButton href="/wallet/top-up" small>
          {words.getCredits}
        </LinkButton>
      </span>
    );
  }
  return (
    <>
      <Amount winc={left} />
      {lenders(balance, cost).length > 0 && <span class="soft"> · {words.shared}</span>}
    </>
  );
}

interface SignedTextsProps {
  readonly action: ActionName;
  readonly body: ActionBody;
  readonly id: string;
  readonly payer: Wallet;
  readonly asksOwner: boolean;
}

function SignedTexts({ action, body, id, payer, asksOwner: asks }: SignedTextsProps) {
  const text = JSON.stringify(body);
  const load = useLoad(async () => {
    const service = await serviceAddress();
    const boundTo =
      service === undefined ? undefined : { service, method: 'POST', path: actionPath(action), body: text };
    const request = (await requestText(id, boundTo)).text;
    return { request, proof: isOnRecord(action) ? ownerProofText(action, body, '…', service) : undefined };
  }, [action, text, id]);
  return (
    <Loaded of={load}>
      {({ request, proof }) => (
        <div class="names-signed">
          <p>{words.signsRequest(payer.label)}</p>
          <Code text={request} what={words.signs} />
          {proof !== undefined && (
            <>
              <p>{words.signsProof}</p>
              <Code text={visible(proof)} what={words.signs} />
            </>
          )}
          {asks && <p>{words.signsTransaction}</p>}
        </div>
      )}
    </Loaded>
  );
}

/** Signs that stand for fields which are cleared or left alone cannot be seen as they are. */
const visible = (text: string): string =>
  text.replaceAll('\u0000', '(cleared)').replaceAll('\u0002', '(unchanged)').replaceAll('\u0001', ', ');

const asksOwner = (action: ActionName): boolean =>
  action === 'buy-name' ||
  action === 'add-controller' ||
  action === 'remove-controller' ||
  action === 'transfer';

function ownerOf(wanted: Proposal['owner'], owner: Wallet | undefined): string | undefined {
  if (wanted === 'nobody') return undefined;
  return wanted === 'any' ? owner?.address : wanted.address;
}

function bodyOf({ fields, owner: wanted }: Proposal, owner: Wallet | undefined): ActionBody {
  const address = ownerOf(wanted, owner);
  // Wallets warn of transactions that others have signed before their owner.
  return address === undefined ? fields : { ...fields, ownerAddress: address, signOrder: 'owner-first' };
}

async function readPrice({ action, name, fields }: Proposal, abort: AbortSignal): Promise<Price> {
  if (!isPurchase(action)) return { winc: await actionPrice(action, abort), cents: undefined };
  const { winc, cents }: NamePrice = await priceOf(purchaseOf(action, name, fields), abort);
  return { winc, cents };
}

function purchaseOf(action: Purchase['action'], name: string, fields: ActionBody): Purchase {
  const { type, years, increaseQty } = fields as Omit<Purchase, 'action' | 'name'>;
  return {
    action,
    name,
    ...(type !== undefined && { type }),
    ...(years !== undefined && { years }),
    ...(increaseQty !== undefined && { increaseQty }),
  };
}

/** Services take no more. */
const mostLenders = 32;

/** Whose credits are needed beside the wallet's own. */
function lenders(balance: Balance | undefined, cost: bigint): string[] {
  if (balance === undefined || balance.winc >= cost) return [];
  return [...new Set(balance.received.map(({ payingAddress }) => payingAddress))].slice(0, mostLenders);
}

/** Keeps the purchase, then leaves for the card provider's page. */
async function checkout(action: NameAction): Promise<void> {
  if (!isPurchase(action.action)) return;
  const purchase = purchaseOf(action.action, action.name, action.body);
  const back = `${window.location.origin}/names/actions/${action.id}`;
  const buyer = action.owner ?? action.payer.address;
  const { purchase: quote, url } = await buyByCard(purchase, buyer, { successUrl: back, cancelUrl: back });
  const { nonce, quoteExpirationDate, paymentAmount } = quote;
  await agree({ ...action, price: String(paymentAmount), card: { nonce, quoteExpirationDate, url } });
  window.location.assign(url);
}
