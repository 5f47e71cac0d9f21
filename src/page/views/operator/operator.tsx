import { texts } from '../../texts.ts';

export default function OperatorView() {
  return <h1 tabIndex={-1}>{texts.sections.operator}</h1>;
}
