/** The gateways that the router reads from, as it sees them now. */
import { Button } from '../../../kit/button.tsx';
import { Card } from '../../../kit/card.tsx';
import { confirmAction } from '../../../kit/dialog.tsx';
import { clampText, formatCount } from '../../../kit/format.ts';
import { Loaded, useLoad } from '../../../kit/load.tsx';
import { Empty } from '../../../kit/state.tsx';
import { Table } from '../../../kit/table.tsx';
import type { Tone } from '../../../kit/tone.ts';
import { Badge } from '../../../kit/value.tsx';
import type { Ask } from '../../../services/operator/ask.ts';
import type { RouterGateway } from '../../../services/operator/router.ts';
import { texts } from '../../../texts.ts';
import { useAction } from '../use-action.ts';
import { formatMs, formatShare } from './share.ts';

const words = texts.operator.router;

const tones: Readonly<Record<RouterGateway['state'], Tone>> = {
  healthy: 'good',
  'half-open': 'warn',
  paused: 'warn',
  open: 'bad',
  quarantined: 'bad',
};

export function RouterGatewaysPart({ ask }: { readonly ask: Ask }) {
  const list = useLoad(() => ask<{ gateways: readonly RouterGateway[] }>('GET', 'gateways'), [ask], {
    everyMs: 5_000,
  });
  const action = useAction();
  const release = (gateway: string): void =>
    action.run(async () => {
      await ask('POST', 'gateways/release', { gateway });
      list.again();
      return words.released;
    });
  const quarantine = async (gateway: string): Promise<void> => {
    const text = words.quarantineText(gateway);
    const question = { title: words.quarantineTitle, text, confirm: words.quarantine, danger: true };
    if (!(await confirmAction(question))) return;
    action.run(async () => {
      await ask('POST', 'gateways/quarantine', { gateway });
      list.again();
      return words.quarantined;
    });
  };
  return (
    <Card title={words.parts.gateways}>
      <Loaded of={list}>
        {({ gateways }) => (
          <Table
            caption={words.parts.gateways}
            rows={gateways}
            rowKey={({ gateway }) => gateway}
            empty={<Empty title={words.noGateways} />}
            columns={[
              {
                id: 'gateway',
                head: words.gateway,
                cell: ({ gateway }) => <bdi class="foreign">{clampText(gateway, 120)}</bdi>,
              },
              {
                id: 'state',
                head: words.health,
                cell: ({ state }) => <Badge tone={tones[state]}>{words.states[state]}</Badge>,
              },
              { id: 'role', head: words.role, cell: roleOf },
              {
                id: 'latency',
                head: words.firstByte,
                align: 'end',
                cell: ({ latencyMs }) => formatMs(latencyMs),
              },
              {
                id: 'errors',
                head: words.errors,
                align: 'end',
                cell: ({ errorRate }) => formatShare(errorRate),
              },
              {
                id: 'flight',
                head: words.inFlight,
                align: 'end',
                cell: ({ inFlight }) => formatCount(inFlight),
              },
              {
                id: 'failure',
                head: words.lastFailure,
                wide: true,
                cell: ({ lastFailure }) => <bdi class="foreign">{clampText(lastFailure ?? '–', 200)}</bdi>,
              },
              {
                id: 'act',
                head: '',
                align: 'end',
                cell: ({ gateway, state }) =>
                  state === 'healthy' ? (
                    <Button small busy={action.busy} onClick={() => void quarantine(gateway)}>
                      {words.quarantine}
                    </Button>
                  ) : (
                    <Button small busy={action.busy} onClick={() => release(gateway)}>
                      {words.release}
                    </Button>
                  ),
              },
            ]}
          />
        )}
      </Loaded>
    </Card>
  );
}

const roleOf = ({ routing, verification }: RouterGateway): string =>
  [...(routing ? [words.content] : []), ...(verification ? [words.verifier] : [])].join(', ');
