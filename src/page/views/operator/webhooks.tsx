/** The operator's webhooks: told of what the gateway sees of the chain. */
import { askGateway } from '../../services/operator/ask.ts';
import { texts } from '../../texts.ts';
import { Hooks } from '../hooks/hooks.tsx';

const words = texts.hooks.kinds;
const states = ['new', 'mined', 'final', 'reverted'];
const types = {
  [words.items]: states.map((state) => `item.${state}`),
  [words.transactions]: states.map((state) => `transaction.${state}`),
  [words.blocks]: ['block.new', 'block.final', 'block.reverted'],
};

export function WebhooksPage() {
  return (
    <Hooks
      owner="operator"
      ask={(method, path, body) => askGateway(method, `hooks${path}`, body)}
      types={types}
      filtered
    />
  );
}
