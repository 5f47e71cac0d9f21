/** An action from its agreed price to its end: where it is, what it waits for, and what came of it. */
import { useState } from 'preact/hooks';
import { labelOf } from '../../../formats/solana/name-rules.ts';
import { Button, LinkButton } from '../../kit/button.tsx';
import { Fact, Facts } from '../../kit/card.tsx';
import { formatCoin, formatCredits, formatDollars, formatTime, shortId } from '../../kit/format.ts';
import { Loaded, useLoad } from '../../kit/load.tsx';
import { Empty, Problem } from '../../kit/state.tsx';
import { Timeline } from '../../kit/timeline.tsx';
import type { Tone } from '../../kit/tone.ts';
import { Amount, Badge, Id, Time } from '../../kit/value.tsx';
import { nameUrl } from '../../services/names.ts';
import { summarizeTransaction, type TransactionStep } from '../../services/solana-transaction.ts';
import { texts } from '../../texts.ts';
import { openWalletChooser, wallet } from '../../wallet/wallet.ts';
import { isOpen, type NameAction, type Stage, stepsOf } from './action.ts';
import { nameActions, signTransaction, transactionOf } from './kept-actions.ts';
import { proposeAgain } from './proposal.ts';
import { sentenceOf } from './words.ts';

const { progress: words } = texts.names;

interface Props {
  readonly id: string;
  /** Leaves the dialog that it is shown in. */
  readonly close?: () => void;
}

export function ActionProgress({ id, close }: Props) {
  const action = nameActions.value?.find((known) => known.id === id);
  if (action === undefined) {
    if (nameActions.value === undefined || close !== undefined) return null;
    return <Empty title={words.missing}>{words.missingNote}</Empty>;
  }
  return (
    <div class="names-progress">
      <p class="names-sentence">
        <bdi>{sentenceOf(action)}</bdi>
      </p>
      {action.stage === 'awaiting-owner' && <OwnerSignature key={action.id} action={action} />}
      <div class="names-progress-columns">
        <div role="status">
          <StageBadge stage={action.stage} />
          <Timeline
            steps={stepsOf(action).map(({ id: step, state }) => ({
              id: step,
              label: texts.names.steps[step],
              state,
            }))}
          />
        </div>
        <ActionFacts action={action} />
      </div>
      <Outcome action={action} />
      <Next action={action} close={close} />
    </div>
  );
}

const tones: Readonly<Record<Stage, Tone>> = {
  agreed: 'info',
  sent: 'info',
  'awaiting-owner': 'warn',
  'owner-signed': 'info',
  paying: 'info',
  completed: 'good',
  failed: 'bad',
  expired: 'bad',
  declined: 'neutral',
  unsent: 'neutral',
};

export const StageBadge = ({ stage }: { readonly stage: Stage }) => (
  <Badge tone={tones[stage]}>{texts.names.stages[stage]}</Badge>
);

/** What it cost, or would have. */
export function Cost({ action: { way, price, stage, told } }: { readonly action: NameAction }) {
  const isBack = stage === 'declined' || stage === 'unsent' || stage === 'failed' || stage === 'expired';
  const kept = told?.keptWincQty;
  if (isBack && kept !== undefined) return <Amount winc={BigInt(kept)} />;
  if (isBack) return <span class="soft">{told === undefined ? '–' : words.refunded}</span>;
  if (way === 'card') return <span class="number">{formatDollars(Number(price) / 100)}</span>;
  return <Amount winc={BigInt(told?.wincQty ?? price)} />;
}

function ActionFacts({ action }: { readonly action: NameAction }) {
  const { payer, owner, createdAt, messageId, antId, card, id, way } = action;
  return (
    <Facts>
      <Fact label={words.cost}>
        <Cost action={action} />
      </Fact>
      <Fact label={way === 'card' ? texts.names.review.boughtFor : texts.names.review.paidBy}>
        {payer.label} <Id value={payer.address} />
      </Fact>
      {owner !== undefined && owner !== payer.address && (
        <Fact label={texts.names.review.owner}>
          <Id value={owner} />
        </Fact>
      )}
      {messageId !== undefined && (
        <Fact label={words.receipt}>
          <Id value={messageId} />
        </Fact>
      )}
      {antId !== undefined && (
        <Fact label={words.token}>
          <Id value={antId} />
        </Fact>
      )}
      <Fact label={words.started}>
        <Time at={createdAt} />
      </Fact>
      <Fact label={words.number}>
        <Id value={card?.nonce ?? id} />
      </Fact>
    </Facts>
  );
}

/** Why it ended, and where the money is. */
function Outcome({ action }: { readonly action: NameAction }) {
  const { stage, problem, way, told } = action;
  const note = noteOf(action);
  const isBad = stage === 'failed' || stage === 'expired';
  return (
    <>
      {problem !== undefined && (isBad || isOpen(action)) && <Problem error={new Error(problem)} />}
      {note !== undefined && <p>{note}</p>}
      {stage === 'failed' && told?.keptWincQty !== undefined && (
        <p>{words.keptNote(formatCredits(BigInt(told.keptWincQty)))}</p>
      )}
      {stage === 'failed' && way === 'card' && <p>{words.cardFailedNote}</p>}
    </>
  );
}

function noteOf({ stage, told, way }: NameAction): string | undefined {
  switch (stage) {
    case 'declined':
      return words.declinedNote;
    case 'unsent':
      return words.unsentNote;
    case 'expired':
      return words.expiredNote;
    case 'failed':
      if (way === 'card') return undefined;
      return told === undefined ? words.failedNote : words.refundedNote;
    default:
      return undefined;
  }
}

/** The transaction in words, and the button that signs it. */
function OwnerSignature({ action }: { readonly action: NameAction }) {
  const [isBusy, setBusy] = useState(false);
  const load = useLoad(() => transactionOf(action), [action.id, action.problem]);
  const connected = wallet.value;
  const isOwner = connected?.kind === 'solana' && connected.address === action.owner;
  const expiresAt = action.told?.expiresAt;
  async function sign(transaction: string): Promise<void> {
    if (connected === undefined) return;
    setBusy(true);
    await signTransaction(action, transaction, connected).finally(() => setBusy(false));
  }
  return (
    <section class="names-transaction" aria-label={words.transactionTitle}>
      <h3>{words.transactionTitle}</h3>
      <Loaded of={load}>
        {(transaction) =>
          transaction === undefined ? (
            <p>
              {words.gone} {expiresAt !== undefined && words.backBy(formatTime(new Date(expiresAt)))}
            </p>
          ) : (
            <>
              <TransactionWords transaction={transaction} owner={action.owner ?? ''} />
              <p class="soft">
                {action.told?.signOrder === undefined || expiresAt === undefined
                  ? words.signSoon
                  : words.signInTime(formatTime(new Date(expiresAt)))}
              </p>
              <div class="actions">
                {isOwner ? (
                  <Button kind="primary" busy={isBusy} onClick={() => sign(transaction)}>
                    {words.signTransaction}
                  </Button>
                ) : (
                  <>
                    <span>{words.connectOwner(shortId(action.owner ?? ''))}</span>
                    <Button onClick={() => openWalletChooser(['solana'])}>
                      {texts.names.review.connect}
                    </Button>
                  </>
                )}
              </div>
            </>
          )
        }
      </Loaded>
    </section>
  );
}

function TransactionWords({ transaction, owner }: { readonly transaction: string; readonly owner: string }) {
  const summary = summarizeTransaction(transaction);
  if (summary === undefined) return <Problem error={new Error(words.unreadable)} />;
  const { feePayer, steps } = summary;
  const who = (address: string): string =>
    address === owner ? texts.names.you : address === feePayer ? texts.names.theService : shortId(address);
  const told = steps.filter(({ instruction }) => instruction !== 'fee_limit');
  const main = told.filter((step) => !isBookkeeping(step, owner));
  const rest = told.filter((step) => isBookkeeping(step, owner));
  return (
    <>
      <StepList steps={main} who={who} />
      {rest.length > 0 && (
        <details>
          <summary>{words.bookkeeping(rest.length)}</summary>
          <StepList steps={rest} who={who} />
        </details>
      )}
      <p class="soft">{words.feePayer(shortId(feePayer))}</p>
    </>
  );
}

interface StepListProps {
  readonly steps: readonly TransactionStep[];
  readonly who: (address: string) => string;
}

const StepList = ({ steps, who }: StepListProps) => (
  <ol class="names-steps">
    {steps.map((step, index) => (
      <li key={index}>{stepText(step, who)}</li>
    ))}
  </ol>
);

/** Keeps lists of tokens, or gives the owner the rent that a step takes again; never what the owner pays. */
const isBookkeeping = ({ instruction, isKnownProgram, payment }: TransactionStep, owner: string): boolean =>
  isKnownProgram && (payment === undefined ? instruction?.includes('acl') === true : payment.from !== owner);

function stepText(step: TransactionStep, who: (address: string) => string): string {
  const { instruction, isKnownProgram, program, payment, values } = step;
  if (payment !== undefined) {
    const { from, to, lamports } = payment;
    return texts.names.chainSteps.transfer_lamports(formatCoin(lamports, 9, 'SOL'), who(from), who(to));
  }
  const known = chainStepText(instruction);
  if (!isKnownProgram || known === undefined) return words.strange(program);
  const shown = values.map((value) => (value.length > 30 ? who(value) : value));
  return shown.length === 0 ? known : `${known}: ${shown.join(' → ')}`;
}

/** An instruction of the name programs in words; undefined where it is not known. */
export function chainStepText(instruction: string | undefined): string | undefined {
  const all: Readonly<Record<string, unknown>> = texts.names.chainSteps;
  const text = instruction !== undefined && Object.hasOwn(all, instruction) ? all[instruction] : undefined;
  return typeof text === 'string' ? text : undefined;
}

function Next({ action, close }: { readonly action: NameAction; readonly close: (() => void) | undefined }) {
  const { stage, name, body, card } = action;
  const isDone = stage === 'completed';
  const site = nameUrl('gateway', labelOf(name, String(body.undername ?? '@')));
  const isUntargeted = action.action === 'buy-name' && body.antState === undefined;
  const canRepeat = !isOpen(action) && !isDone;
  return (
    <div class="actions actions-end">
      {stage === 'paying' && card !== undefined && (
        <LinkButton href={card.url} kind="primary" outside>
          {words.checkout}
        </LinkButton>
      )}
      {canRepeat && <Button onClick={() => proposeAgain(action)}>{words.tryAgain}</Button>}
      {isDone && site !== undefined && !isUntargeted && action.action !== 'remove-record' && (
        <LinkButton href={site} outside>
          {words.openSite}
        </LinkButton>
      )}
      {isDone && (
        <LinkButton
          href={`/name/${encodeURIComponent(name)}`}
          kind={close === undefined ? 'primary' : 'plain'}
        >
          {isUntargeted ? words.setTarget : words.openName}
        </LinkButton>
      )}
      {close !== undefined && (
        <Button kind={isOpen(action) ? 'plain' : 'primary'} onClick={close}>
          {texts.kit.close}
        </Button>
      )}
    </div>
  );
}
