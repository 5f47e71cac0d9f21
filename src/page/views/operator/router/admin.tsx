/** The router's pages with a token instead of a session; which one is shown stands behind the `#`. */
import { useEffect, useState } from 'preact/hooks';
import { Button } from '../../../kit/button.tsx';
import { Card } from '../../../kit/card.tsx';
import { ConfirmDialog } from '../../../kit/dialog.tsx';
import { Form, TextField } from '../../../kit/form.tsx';
import { Loaded, useLoad } from '../../../kit/load.tsx';
import { Notices } from '../../../kit/notify.tsx';
import { PageTitle } from '../../../kit/page-title.tsx';
import { Empty } from '../../../kit/state.tsx';
import { Tabs } from '../../../kit/tabs.tsx';
import type { RouterModeration, RouterVariable, TelemetryRange } from '../../../services/operator/router.ts';
import { askWithToken, isSignedIn, refusal, signIn, signOut } from '../../../services/router-token.ts';
import { texts } from '../../../texts.ts';
import { AuditTable } from '../audit-table.tsx';
import { VariableTable } from '../variable-table.tsx';
import { joinVariables } from '../variables.ts';
import { RouterBlockForm } from './block-form.tsx';
import { RouterBlocklist } from './blocklist.tsx';
import { RouterGatewaysPart } from './gateways.tsx';
import { RouterStatusPart } from './status.tsx';
import { RouterTelemetryPart } from './telemetry.tsx';
import { RouterToolsPart } from './tools.tsx';

const words = texts.operator.admin;
const { parts, ...routerWords } = texts.operator.router;
type Part = keyof typeof parts;

const partOf = (hash: string): Part => {
  const name = hash.slice(1);
  return Object.hasOwn(parts, name) ? (name as Part) : 'status';
};

export function RouterAdmin() {
  const [part, setPart] = useState<Part>(partOf(window.location.hash));
  useEffect(() => {
    const follow = (): void => setPart(partOf(window.location.hash));
    window.addEventListener('hashchange', follow);
    return () => window.removeEventListener('hashchange', follow);
  }, []);
  return (
    <main class="operator-admin">
      <PageTitle title={words.title} note={isSignedIn() ? parts[part] : words.tokenNote}>
        {isSignedIn() && <Button onClick={signOut}>{texts.operator.signIn.out}</Button>}
      </PageTitle>
      {isSignedIn() ? <SignedIn part={part} /> : <SignIn />}
      <ConfirmDialog />
      <Notices />
    </main>
  );
}

function SignIn() {
  const [token, setToken] = useState('');
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<Error | undefined>(undefined);
  const submit = (): void => {
    setBusy(true);
    setError(undefined);
    signIn(token.trim())
      .catch((thrown: Error) => setError(thrown))
      .finally(() => setBusy(false));
  };
  return (
    <Card title={words.signInTitle}>
      <Form onSubmit={submit} busy={busy} error={error ?? refusal.value}>
        <TextField
          label={words.token}
          type="password"
          value={token}
          onInput={setToken}
          mono
          maxLength={1024}
        />
        <div class="actions">
          <Button submit kind="primary" busy={busy}>
            {texts.operator.signIn.submit}
          </Button>
        </div>
      </Form>
    </Card>
  );
}

function SignedIn({ part }: { readonly part: Part }) {
  const [range, setRange] = useState<TelemetryRange>('24h');
  return (
    <>
      <Tabs
        label={routerWords.partsLabel}
        current={part}
        tabs={(Object.keys(parts) as Part[]).map((id) => ({ id, label: parts[id], href: `#${id}` }))}
      />
      {part === 'status' && <RouterStatusPart ask={askWithToken} isAlone />}
      {part === 'gateways' && <RouterGatewaysPart ask={askWithToken} />}
      {part === 'telemetry' && <RouterTelemetryPart ask={askWithToken} range={range} onRange={setRange} />}
      {part === 'moderation' && <Moderation />}
      {part === 'tools' && <RouterToolsPart ask={askWithToken} />}
      {part === 'settings' && <Settings />}
    </>
  );
}

function Moderation() {
  const list = useLoad(() => askWithToken<RouterModeration>('GET', 'moderation'), [], { everyMs: 10_000 });
  return (
    <Loaded of={list}>
      {(told) =>
        told.enabled ? (
          <>
            <RouterBlockForm ask={askWithToken} done={list.again} />
            <RouterBlocklist ask={askWithToken} of={list} />
            <Card title={texts.operator.moderation.audit}>
              <AuditTable lines={told.audit} />
            </Card>
          </>
        ) : (
          <Empty title={routerWords.moderationOff}>{routerWords.moderationOffNote}</Empty>
        )
      }
    </Loaded>
  );
}

function Settings() {
  const told = useLoad(() => askWithToken<{ variables: readonly RouterVariable[] }>('GET', 'config'), []);
  return (
    <Card>
      <Loaded of={told}>
        {({ variables }) => (
          <VariableTable
            variables={joinVariables(
              variables.map(({ isDefault, ...one }) => ({
                ...one,
                surface: 'router',
                default: '',
                isSet: !isDefault,
              })),
            )}
          />
        )}
      </Loaded>
    </Card>
  );
}
