/** The router's pages inside the console; its own admin page shows the same parts. */
import { navigate } from '../../app/location.ts';
import { Tabs } from '../../kit/tabs.tsx';
import { askRouter } from '../../services/operator/ask.ts';
import { telemetryRanges } from '../../services/operator/router.ts';
import { texts } from '../../texts.ts';
import { RouterGatewaysPart } from './router/gateways.tsx';
import { RouterStatusPart } from './router/status.tsx';
import { RouterTelemetryPart } from './router/telemetry.tsx';
import { RouterToolsPart } from './router/tools.tsx';

const words = texts.operator.router;
const root = '/operator/gateways';

interface Props {
  /** After `/operator/gateways`. */
  readonly path: readonly string[];
  readonly query: URLSearchParams;
}

export function RouterPage({ path: [part = 'gateways'], query }: Props) {
  const range = telemetryRanges.find((each) => each === query.get('range')) ?? '24h';
  return (
    <>
      <RouterStatusPart ask={askRouter} />
      <Tabs
        label={words.partsLabel}
        current={part}
        tabs={[
          { id: 'gateways', label: words.parts.gateways, href: root },
          { id: 'telemetry', label: words.parts.telemetry, href: `${root}/telemetry` },
          { id: 'tools', label: words.parts.tools, href: `${root}/tools` },
        ]}
      />
      {part === 'gateways' && <RouterGatewaysPart ask={askRouter} />}
      {part === 'telemetry' && (
        <RouterTelemetryPart
          ask={askRouter}
          range={range}
          onRange={(chosen) => navigate(`${root}/telemetry?range=${chosen}`, { replace: true })}
        />
      )}
      {part === 'tools' && <RouterToolsPart ask={askRouter} />}
    </>
  );
}
