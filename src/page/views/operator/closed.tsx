/** In place of what the keys of the session do not open. */
import type { OperatorService } from '../../../console/api.ts';
import { Card } from '../../kit/card.tsx';
import { Empty } from '../../kit/state.tsx';
import { serviceUrl } from '../../services/settings.ts';
import { texts } from '../../texts.ts';
import { AddKey } from './sign-in.tsx';

const words = texts.operator.signIn;

export function Closed({ service }: { readonly service: OperatorService }) {
  const name = texts.operator.services[service];
  if (serviceUrl(service) === undefined) {
    return (
      <Card>
        <Empty title={words.absent(name)}>{words.absentNote}</Empty>
      </Card>
    );
  }
  return (
    <Card>
      <Empty title={words.closed(name)} action={<AddKey service={service} />}>
        {words.closedNote}
      </Empty>
    </Card>
  );
}
