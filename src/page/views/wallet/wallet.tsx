import { texts } from '../../texts.ts';

export default function WalletView() {
  return <h1 tabIndex={-1}>{texts.sections.wallet}</h1>;
}
